import { resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(__dirname, '../../../..');
const contracts = resolve(root, 'libs/contracts/src/http');
const main = resolve(root, 'apps/worker/src/main.ts');

/** Fields of the contract that the worker sends or reads, and who of it notices another name. */
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
  ['jobs/callbacks', 'JobWebhookBody', 'errorCode', 'run'],
  ['jobs/callbacks', 'StepStatusBody', 'finishedAt', 'script-events'],
  ['jobs/callbacks', 'ClaimResultsBody', 'claimResults', 'callbacks'],
  ['jobs/callbacks', 'CallbackAnswer', 'accepted', 'callbacks'],
];

describe('the worker’s words are the contract’s', () => {
  const read = ts.readConfigFile(resolve(root, 'tsconfig.base.json'), (name) => ts.sys.readFile(name));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, root);
  const host = ts.createCompilerHost(options);
  let program: ts.Program | undefined;

  /** The worker’s files that no longer compile when a file of the contract has another text. */
  const faultyFiles = (changed: string, text: string): string[] => {
    const plain = host.getSourceFile.bind(host);
    const ours: ts.CompilerHost = {
      ...host,
      getSourceFile: (name, target) => {
        if (name === changed) return ts.createSourceFile(name, text, target, true);
        const known = program?.getSourceFile(name);
        return known && known.text === host.readFile(name) ? known : plain(name, target);
      },
    };
    program = ts.createProgram({ rootNames: [main], options, host: ours, oldProgram: program });
    return program
      .getSourceFiles()
      .filter(({ fileName }) => fileName.includes('/apps/worker/'))
      .filter((source) => program!.getSemanticDiagnostics(source).length > 0)
      .map(({ fileName }) => /([^/]+)\.ts$/.exec(fileName)![1]!);
  };

  it('compiles with the contract as it is', () => {
    const file = resolve(contracts, 'agents/machines.ts');
    // The text that the bundle gets instead of the Python module is declared where it is used.
    expect(faultyFiles(file, host.readFile(file)!)).toEqual([]);
  });

  it.each(fields)('a renamed field does not compile: %s, %s.%s', (contract, body, field, noticedIn) => {
    const file = resolve(contracts, `${contract}.ts`);
    const text = host.readFile(file)!;
    const begin = text.search(new RegExp(`(class|interface) ${body} `));
    const end = text.indexOf('\n}', begin);
    const declared = new RegExp(`\\b${field}(?=[!?]?:)`, 'g');
    const renamed = text.slice(begin, end).replace(declared, `${field}Renamed`);
    expect(renamed).not.toBe(text.slice(begin, end));
    expect(faultyFiles(file, text.slice(0, begin) + renamed + text.slice(end))).toContain(noticedIn);
  });
});
