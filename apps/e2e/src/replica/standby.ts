import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { choosePostgresUser } from '../../../../tools/dev-stack/src/choose-postgres-user';

/** A second Postgres that follows another one by streaming replication and answers reads. */
export class Standby {
  private constructor(
    readonly url: string,
    private readonly data: string,
    private readonly server: ChildProcess,
  ) {}

  /** Copies the files of a running Postgres of this machine, and starts the copy with the same program and user. */
  static async start(primaryUrl: string): Promise<Standby> {
    const primary = await connectTo(primaryUrl);
    const { rows } = await primary.query<{ data: string; pid: number }>(
      `SELECT current_setting('data_directory') AS data, pg_backend_pid() AS pid`,
    );
    const server = await readServer(rows[0]!.pid);
    const data = join(dirname(rows[0]!.data), 'standby');
    await primary.query(`SELECT pg_backup_start('standby', true)`);
    await promisify(execFile)('cp', ['--archive', rows[0]!.data, data]);
    const label = await primary.query<{ label: string }>('SELECT labelfile AS label FROM pg_backup_stop()');
    await primary.end();
    await rm(join(data, 'postmaster.pid'));
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primaryUrl}'\n`);
    for (const [name, text] of [
      ['backup_label', label.rows[0]!.label],
      ['standby.signal', ''],
    ] as const)
      await writeFile(join(data, name), text, { mode: 0o644 });
    const port = await findFreePort();
    const args = server.args.map((arg, at, all) =>
      all[at - 1] === '-D' ? data : arg.startsWith('port=') ? `port=${port}` : arg,
    );
    const user = await choosePostgresUser({ PATH: process.env['PATH'] });
    const { command, ...options } = user.as({ command: [server.program, ...args], env: server.env });
    const child = spawn(command[0]!, command.slice(1), { ...options, stdio: 'ignore' });
    const url = new URL(primaryUrl);
    url.port = String(port);
    const standby = new Standby(url.href, data, child);
    await waitFor('the standby', async () => {
      if (child.exitCode !== null) throw new Error(`the standby ended with ${child.exitCode}`);
      return (await standby.run('SELECT 1').catch(() => null)) !== null;
    });
    return standby;
  }

  async run<Row extends object>(sql: string): Promise<Row[]> {
    const client = await connectTo(this.url);
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    if (this.server.exitCode === null && this.server.signalCode === null) {
      const ended = once(this.server, 'exit');
      this.server.kill('SIGQUIT');
      await ended;
    }
    await rm(this.data, { recursive: true, force: true });
  }
}

async function connectTo(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Returns how the server of a connection was started. */
async function readServer(backend: number): Promise<{ program: string; args: string[]; env: NodeJS.ProcessEnv }> {
  const status = await readFile(`/proc/${backend}/status`, 'utf8');
  const server = /^PPid:\s+(\d+)/m.exec(status)![1]!;
  const readList = async (name: string) => (await readFile(`/proc/${server}/${name}`, 'utf8')).split('\0').slice(0, -1);
  const [, ...args] = await readList('cmdline');
  const variables = (await readList('environ')).map((each) => /^([^=]+)=([^]*)$/.exec(each)!.slice(1));
  return {
    program: await readlink(`/proc/${server}/exe`),
    args,
    env: Object.fromEntries(variables) as NodeJS.ProcessEnv,
  };
}
