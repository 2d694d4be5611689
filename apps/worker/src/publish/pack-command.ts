import { parseArgs } from 'node:util';
import { getErrorMessage, Service } from '../protocol/service';
import { readPublishSettings } from '../settings';
import { storeLastDraft, readLastDraft } from './last-draft';
import { makeBundle } from './make-bundle';
import { HeadMoved, publishBundle, type Published, Refused, Unreached } from './publish-bundle';
import { Unpublishable } from './read-folder';

export const packHelp = `muster-worker pack publish <folder> --pack <id>

Makes a bundle of a folder and publishes it as the draft of a workflow pack. __pycache__ and .git are left out; links
are refused. The same files make the same bundle. A draft that another user has published since then is not replaced.

  --pack <id>         the pack
  --base <id>|none    the draft to replace; default: the draft that was last published from this folder, which is
                      stored in its ${'`.muster-pack.json`'}, or none
  --force             replace any current draft
  --service <url>     the service; default: SERVICE_BASE_URL, or the service of the worker that runs on this machine
  --key-file <path>   the file with the key; default: SERVICE_API_KEY, or that worker's key
  --worker-dir <path> that worker's folder; default: MUSTER_WORKER_DIR, or ~/.muster-worker
  --dry-run           print what would be published
  --json              print the result as JSON

The exit code is 0 if the draft is published, 1 if it is refused, 2 if the arguments are wrong, 3 if the current draft
is another one, and 4 if the service or its store does not answer.
`;

export interface Streams {
  out: (text: string) => void;
  err: (text: string) => void;
}

const codes: [new (...args: never[]) => Error, number][] = [
  [Unpublishable, 1],
  [Refused, 1],
  [HeadMoved, 3],
  [Unreached, 4],
];

/** Runs `muster-worker pack …` and returns the exit code. */
export async function runPackCommandSafely(args: string[], { out, err }: Streams, stop: AbortSignal): Promise<number> {
  try {
    return await runPackCommand(args, out, stop);
  } catch (error) {
    err(`muster-worker: ${error instanceof HeadMoved ? describeConflict(error) : getErrorMessage(error)}\n`);
    return codes.find(([kind]) => error instanceof kind)?.[1] ?? 2;
  }
}

async function runPackCommand(args: string[], out: (text: string) => void, stop: AbortSignal): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      pack: { type: 'string' },
      base: { type: 'string' },
      force: { type: 'boolean', default: false },
      service: { type: 'string' },
      'key-file': { type: 'string' },
      'worker-dir': { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [verb, folder, ...more] = positionals;
  if (values.help || verb === 'help') {
    out(packHelp);
    return 0;
  }
  if (verb !== 'publish' || !folder || more.length)
    throw new Error('usage: muster-worker pack publish <folder> --pack <id>; see --help');
  const pack = requireId('--pack', values.pack);
  const bundle = makeBundle(folder);
  const bytes = bundle.files.reduce((sum, { size }) => sum + size, 0);
  const printMessage = (text: string): void => (values.json ? undefined : out(`${text}\n`));
  printMessage(`${bundle.files.length} files, ${bytes} bytes, ${bundle.zip.length} zipped: ${bundle.digest}`);
  const printAnswer = (more: Partial<Published>): void => {
    if (values.json) out(`${JSON.stringify({ pack, digest: bundle.digest, files: bundle.files.length, ...more })}\n`);
  };
  if (values['dry-run']) {
    for (const { path, size } of bundle.files) printMessage(`  ${path} ${size}`);
    printAnswer({});
    return 0;
  }
  const { baseUrl, apiKey } = readPublishSettings({
    service: values.service,
    keyFile: values['key-file'],
    workerFolder: values['worker-dir'],
  });
  const location = { folder, service: baseUrl, pack };
  const base =
    values.base === undefined
      ? readLastDraft(location)
      : values.base === 'none'
        ? null
        : requireId('--base', values.base);
  const service = new Service(baseUrl, () => apiKey, stop);
  const published = await publishBundle({ service, pack, bundle, base, force: values.force, stop });
  printMessage(`published as the draft ${published.runtimeBundleId} of the pack ${pack}`);
  if (!storeLastDraft(location, published))
    printMessage(`the folder cannot be written; next time use --base ${published.runtimeBundleId}`);
  printAnswer(published);
  return 0;
}

function describeConflict({ current, expected, since }: HeadMoved): string {
  const there = current ? `the current draft is ${current}${since ? ` (${since})` : ''}` : 'there is no draft';
  const meant = expected ? `this upload was based on ${expected}` : 'this upload was based on no draft';
  const goOn = current
    ? `Check that draft first. Then use --base ${current} to replace it, or --force to replace any draft.`
    : 'Use --base none to publish anyway.';
  return `nothing was published: ${there}, and ${meant} (draft_head_conflict).\n${goOn}`;
}

function requireId(flag: string, text: string | undefined): string {
  if (!text || !/^[\w-]{1,100}$/.test(text)) throw new Error(`${flag} requires an id`);
  return text;
}
