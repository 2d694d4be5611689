import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { DevStackError, runProgram, type Launch } from './process';

/** The user who runs Postgres. Postgres refuses to run as root, and requires a user with an entry in /etc/passwd. */
export interface PostgresUser {
  /** The uid and gid that must own the files of Postgres on disk. */
  uid: number;
  gid: number;
  /** Whether the uid differs from this process's, so that some files may not be accessible. */
  isAnother: boolean;
  as(launch: Launch): Launch;
}

/**
 * Chooses the user who runs Postgres: the current user if possible. Otherwise Postgres gets another uid in a user
 * namespace of the current user, because that changes no file owners. If this process is root and there are no user
 * namespaces (Docker's default), a different user runs Postgres.
 */
export async function choosePostgresUser(env: NodeJS.ProcessEnv): Promise<PostgresUser> {
  const uid = process.getuid!();
  const gid = process.getgid!();
  if (uid !== 0 && hasUserName()) return { uid, gid, isAnother: false, as: (launch) => launch };

  const other = await findOtherUser();
  const namespace = ['unshare', '--user', `--map-user=${other.uid}`, `--map-group=${other.gid}`];
  if ((await runProgram({ command: [...namespace, 'true'], env })).ok) {
    // unshare is found on this process's PATH; Postgres itself gets a small environment.
    const launchAs = (launch: Launch) => ({
      ...launch,
      env: { ...launch.env, PATH: env.PATH },
      command: [...namespace, ...launch.command],
    });
    return { uid, gid, isAnother: false, as: launchAs };
  }
  if (uid === 0) return { ...other, isAnother: true, as: (launch) => ({ ...launch, ...other }) };
  throw new DevStackError(
    `Postgres cannot run as user ${uid}, which has no entry in /etc/passwd; add one, or set DATABASE_URL.`,
  );
}

function hasUserName(): boolean {
  try {
    return Boolean(userInfo().username);
  } catch {
    return false;
  }
}

async function findOtherUser(): Promise<{ uid: number; gid: number }> {
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
