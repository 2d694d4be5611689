import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { DevStackError, run, type Launch } from './process';

/** Who runs Postgres, which refuses root and wants a user that /etc/passwd knows. */
export interface PostgresUser {
  /** The uid and gid that must own its files on disk. */
  uid: number;
  gid: number;
  /** A different uid than ours: it may not reach what we reach. */
  isAnother: boolean;
  as(launch: Launch): Launch;
}

/**
 * Ourselves where that will do; else ourselves under another number in a user namespace, which changes no owners; else,
 * as root where namespaces are closed (Docker's default), really another user.
 */
export async function postgresUser(env: NodeJS.ProcessEnv): Promise<PostgresUser> {
  const uid = process.getuid!();
  const gid = process.getgid!();
  if (uid !== 0 && hasName()) return { uid, gid, isAnother: false, as: (launch) => launch };

  const other = await otherUser();
  const namespace = ['unshare', '--user', `--map-user=${other.uid}`, `--map-group=${other.gid}`];
  if ((await run({ command: [...namespace, 'true'], env })).ok) {
    // unshare is looked up on our PATH: Postgres itself gets a small environment.
    const as = (launch: Launch) => ({
      ...launch,
      env: { ...launch.env, PATH: env.PATH },
      command: [...namespace, ...launch.command],
    });
    return { uid, gid, isAnother: false, as };
  }
  if (uid === 0) return { ...other, isAnother: true, as: (launch) => ({ ...launch, ...other }) };
  throw new DevStackError(
    `Postgres cannot run as user ${uid}, who is not in /etc/passwd; add such a user, or set DATABASE_URL.`,
  );
}

function hasName(): boolean {
  try {
    return Boolean(userInfo().username);
  } catch {
    return false;
  }
}

async function otherUser(): Promise<{ uid: number; gid: number }> {
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0);
  const found = users.find(({ name }) => name === 'nobody') ?? users.at(-1);
  if (!found)
    throw new DevStackError(
      'Postgres refuses to run as root and /etc/passwd has no other user; run `useradd muster`, or set DATABASE_URL.',
    );
  return { uid: found.uid, gid: found.gid };
}
