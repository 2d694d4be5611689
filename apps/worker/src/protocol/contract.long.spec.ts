// This test is long because it compiles the worker once for each renamed field of the contract.
// A short test of the same code: apps/worker/src/runs/run.spec.ts
import { resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(__dirname, '../../../..');
const contracts = resolve(root, 'libs/contracts/src/http');
const main = resolve(root, 'apps/worker/src/main.ts');

/** Fields of the contract that the worker uses, each with the worker's file that does not compile if it is renamed. */
const fields: [contract: string, body: string, field: string, noticedIn: string][] = [
  ['agents/machines', 'HandshakeBody', 'bootId', 'handshake'],
  ['agents/machines', 'HandshakeBody', 'tunnelHostname', 'handshake'],
  ['agents/machines', 'HandshakeAnswer', 'heartbeatSeconds', 'handshake'],
  ['agents/machines', 'MachineRefusal', 'boot', 'handshake'],
  ['agents/machines', 'HeartbeatBody', 'runningJobIds', 'heartbeat'],
  ['agents/machines', 'HeartbeatBody', 'tunnelHostname', 'heartbeat'],
  ['agents/machines', 'HeartbeatAnswer', 'abandon', 'heartbeat'],
  ['agents/machines', 'HeartbeatAnswer', 'pendingCommands', 'heartbeat'],
  ['agents/commands', 'AgentCommandList', 'commands', 'poll-loop'],
  ['agents/commands', 'AgentCommand', 'deadline', 'command'],
  ['agents/commands', 'AgentCommand', 'payload', 'command'],
  ['agents/commands', 'CommandResultBody', 'code', 'extensions'],
  ['agents/uploads', 'UploadBody', 'contentType', 'upload'],
  ['agents/uploads', 'UploadTicket', 'uploadUrl', 'upload'],
  ['agents/uploads', 'DownloadTicket', 'downloadUrl', 'extensions'],
  ['jobs/callbacks', 'JobLogEntry', 'message', 'run-output'],
  ['jobs/callbacks', 'JobLogsBody', 'logs', 'callbacks'],
  ['jobs/callbacks', 'JobWebhookBody', 'screenshotKey', 'callbacks'],
  ['jobs/callbacks', 'JobWebhookBody', 'errorCode', 'spool-item'],
  ['jobs/callbacks', 'StepStatusBody', 'finishedAt', 'script-events'],
  ['jobs/callbacks', 'ClaimResultsBody', 'claimResults', 'callbacks'],
  ['jobs/callbacks', 'CallbackAnswer', 'accepted', 'callbacks'],
];

describe('The worker uses the field names of the contract', () => {
  const read = ts.readConfigFile(resolve(root, 'tsconfig.base.json'), (name) => ts.sys.readFile(name));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  let program: ts.Program | undefined;

  /** Returns the compiler's errors in the worker's files, by file name, if files of the contract have these texts. */
  const findTypeFaults = (changed: ReadonlyMap<string, string>): Record<string, string> => {
    const plain = host.getSourceFile.bind(host);
    const changedHost: ts.CompilerHost = {
      ...host,
      getSourceFile: (name, target) => {
        const text = changed.get(name);
        if (text !== undefined) return ts.createSourceFile(name, text, target, true);
        const cached = program?.getSourceFile(name);
        return cached && cached.text === host.readFile(name) ? cached : plain(name, target);
      },
    };
    program = ts.createProgram({ rootNames: [main], options, host: changedHost, oldProgram: program });
    const sources = program.getSourceFiles().filter(({ fileName }) => fileName.includes('/apps/worker/'));
    const faults = sources.map((source) => {
      const found = program!.getSemanticDiagnostics(source);
      const text = found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')).join(' ');
      return [/([^/]+)\.ts$/.exec(source.fileName)![1]!, text] as const;
    });
    return Object.fromEntries(faults.filter(([, text]) => text));
  };

  it('the worker compiles with the unchanged contract', () => {
    expect(findTypeFaults(new Map())).toEqual({});
  });

  /**
   * Returns the number of earlier fields that are noticed in the same file. Each round renames at most one field for
   * each worker file, so that an error in the file is about that field.
   */
  const countEarlierFields = ([, , , noticedIn]: (typeof fields)[number], at: number) =>
    fields.slice(0, at).filter(([, , , other]) => other === noticedIn).length;
  const rounds = Array.from({ length: 1 + Math.max(...fields.map(countEarlierFields)) }, (_, round) =>
    fields.filter((each, at) => countEarlierFields(each, at) === round),
  );

  it.each(rounds.map((round) => [round.map(([, body, field]) => `${body}.${field}`).join(', '), round] as const))(
    'the worker does not compile if these fields of the contract are renamed: %s',
    (_, round) => {
      const changed = new Map<string, string>();
      for (const [contract, body, field] of round) {
        const file = resolve(contracts, `${contract}.ts`);
        const text = changed.get(file) ?? host.readFile(file)!;
        const begin = text.search(new RegExp(`(class|interface) ${body} `));
        const end = text.indexOf('\n}', begin);
        const renamed = text.slice(begin, end).replace(new RegExp(`\\b${field}(?=[!?]?:)`), `${field}Renamed`);
        expect(renamed).not.toBe(text.slice(begin, end));
        changed.set(file, text.slice(0, begin) + renamed + text.slice(end));
      }
      const faults = findTypeFaults(changed);
      for (const [, , field, noticedIn] of round) {
        expect({ [noticedIn]: faults[noticedIn] }).toEqual({
          [noticedIn]: expect.stringMatching(new RegExp(`'"?${field}"?'`)),
        });
      }
    },
  );
});
