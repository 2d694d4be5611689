import { createReadStream, existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { writeZip } from '@muster/contracts/zip';
import { AdminError } from '../admin-error';
import { connectTo } from '../backup/dump-database';
import type { Command } from '../command';
import { defaultMinFreePercent, examineInstallation } from '../doctor/examine-installation';
import { openInstallation } from '../installation';
import { openBackupLocation } from '../place/open-place';
import { version } from '../version';
import { collectTables, formatSettings } from './collect';
import { maskFinding, maskLogLine } from './mask';

const text = { type: 'string' } as const;
/** Maximum size of the newest part of a log that is included, in bytes. */
const maxLogBytes = 20 * 1024 * 1024;

export const supportCommands: Record<string, Command> = {
  'support-bundle': {
    usage: '--to FILE.zip [--data-dir DIR] [--backups PLACE] [--log FILE]…',
    summary: 'writes a zip with findings of doctor, counts, settings and logs, to send to support',
    about: `A zip of text files: findings of doctor, versions, sizes of tables and indexes, runs, machines and queues by status,
and the newest 20 MiB of each log. It contains nothing that people entered: no names, variables, results, secrets or
addresses. Log lines keep their fixed fields. In their messages, quoted texts, e-mail addresses, numbers and names are
masked; errors keep only their kind and stack. The logs are those of the data folder and of each --log, in the format that
kubectl logs writes.`,
    options: { to: text, 'data-dir': text, backups: text, log: { type: 'string', multiple: true } },
    run: async (call) => {
      const to = call.text('to');
      if (!to) throw new AdminError('--to is missing: use --to FILE.zip');
      if (existsSync(to)) throw new AdminError(`${to} already exists: choose a new file.`);
      const dataDir = call.text('data-dir');
      const logs = [
        ...(dataDir
          ? ['muster.log.1', 'muster.log'].map((name) => join(resolve(dataDir), name)).filter(existsSync)
          : []),
        ...call.list('log'),
      ];
      const missing = logs.find((file) => !existsSync(file));
      if (missing) throw new AdminError(`The log ${missing} does not exist.`);
      const installation = await openInstallation(dataDir, call.environment);
      const backups = call.text('backups');
      const place = backups ? openBackupLocation(backups, call.environment) : undefined;
      try {
        const { examined, findings } = await examineInstallation({
          ...installation,
          dataDir,
          minFreePercent: defaultMinFreePercent,
          version,
          backups: place?.place,
          now: new Date(),
        });
        const files: Record<string, string> = {
          'doctor.txt': [
            ...findings.map(({ level, message }) => `${level}: ${maskFinding(message)}`),
            `checked ${examined.join(', ')}`,
            '',
          ].join('\n'),
          'version.txt': `Muster ${version}\nNode ${process.version}\n${platform()} ${release()} ${arch()}, ${cpus().length} processors, ${Math.round(totalmem() / 2 ** 30)} GiB\nwritten ${new Date().toISOString()}\n`,
          'settings.txt': formatSettings(installation.environment),
          ...(await collectQueryResults(installation.databaseUrl)),
        };
        for (const [at, file] of logs.entries()) files[`logs/${at + 1}.ndjson`] = await readNewestLines(file);
        await writeAtomically(
          to,
          writeZip(
            Object.entries(files).map(([path, content]) => ({ path, content: Buffer.from(content), isProgram: false })),
          ),
        );
        for (const name of Object.keys(files)) call.write(`  ${name}`);
        call.write(`Wrote ${to}. Look through it before you send it.`);
      } finally {
        await place?.close();
        await installation.close();
      }
    },
  },
};

async function collectQueryResults(databaseUrl: string): Promise<Record<string, string>> {
  const client = await connectTo(databaseUrl).catch(() => null);
  if (!client) return {};
  try {
    return await collectTables(client);
  } finally {
    await client.end();
  }
}

async function readNewestLines(file: string): Promise<string> {
  const handle = await open(file);
  const { size } = await handle.stat().finally(() => handle.close());
  const lines: string[] = [];
  let skipped = 0;
  // If the first line is truncated, it is not valid JSON and is skipped.
  for await (const line of createInterface({
    input: createReadStream(file, { start: Math.max(0, size - maxLogBytes) }),
  })) {
    const masked = maskLogLine(line);
    if (masked === null) skipped += 1;
    else lines.push(masked);
  }
  if (skipped > 0) lines.push(JSON.stringify({ msg: `${skipped} lines that are not JSON were skipped` }));
  return `${lines.join('\n')}\n`;
}

/** Writes a file that only its owner can read. It exists completely or not at all. */
async function writeAtomically(to: string, bytes: Buffer): Promise<void> {
  const draft = `${to}.${process.pid}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    await handle.writeFile(bytes).finally(() => handle.close());
    await rename(draft, to);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
