import { MusterError, Muster } from '@muster/sdk';
import type { Call, Command } from '../frame/command';
import { exitCodes, Failure, usageFault } from '../frame/failure';
import type { Login } from '../frame/logins';
import { clientOf } from '../frame/run-cli';
import { ask, readSecret } from '../parts/input';

const login: Command = {
  words: 'login',
  summary: 'Signs in: with an API key, or as a person with an email address',
  more: 'Without --key the key or password is asked for, or read from stdin, so that it is seen nowhere.',
  options: {
    url: { type: 'string', value: 'URL', about: 'the address of the service' },
    key: { type: 'string', value: 'KEY', about: 'an API key; - reads it from stdin' },
    email: { type: 'string', value: 'EMAIL', about: 'signs in as a person: some commands are theirs alone' },
  },
  async run(call) {
    const { terminal, logins } = call;
    const url = addressOf(call.text('url') ?? (await asked(call, 'Address of the service: ')));
    await requireMuster(url);
    const email = call.text('email');
    if (email && call.text('key')) throw usageFault('Either --key or --email.');
    const found = email ? await asPerson(call, url, email) : await withKey(call, url);
    const name = call.text('context') ?? new URL(url).host;
    const { user, organization } = await clientOf({ name, url, ...found }).signedIn.me();
    const kept: Login = { name, url, ...found, email: user.email ?? undefined, organization: organization.name };
    logins.keep(kept);
    terminal.show(withoutSecrets(kept), `Signed in to ${organization.name} at ${url}${email ? ` as ${email}` : ''}.`);
  },
};

const logout: Command = {
  words: 'logout',
  summary: 'Ends the login, and forgets it',
  async run({ login: current, logins, muster, terminal }) {
    const { name, session } = current();
    // One that has ended already is as good.
    if (session)
      await muster()
        .signedIn.signOut()
        .catch(() => undefined);
    logins.forget(name);
    terminal.show({ name }, `Signed out of ${name}.`);
  },
};

const whoami: Command = {
  words: 'whoami',
  summary: 'Who you are, and where',
  async run({ login: current, muster, terminal }) {
    const { name, url } = current();
    const { user, organization } = await muster().signedIn.me();
    terminal.fields({ context: name, url, user, organization }, [
      ['context', name],
      ['service', url],
      ['you', user.email ?? `the API key ${user.id}`],
      ['role', user.role],
      ['organization', organization.name],
    ]);
  },
};

const contexts: Command = {
  words: 'contexts',
  args: '[use]',
  summary: 'The logins that are kept; with a name, the one to use from now on',
  async run({ args, logins, terminal }) {
    if (args[0]) logins.use(args[0]);
    terminal.table(
      logins.list().map((each) => ({ ...withoutSecrets(each), current: each.current })),
      [
        { title: '', of: ({ current }) => (current ? '*' : ' ') },
        { title: 'NAME', of: ({ name }) => name },
        { title: 'SERVICE', of: ({ url }) => url },
        { title: 'AS', of: ({ email }) => email ?? 'an API key' },
        { title: 'ORGANIZATION', of: ({ organization }) => organization },
      ],
      'You are not signed in anywhere: muster login',
    );
  },
};

export const loginCommands = [login, logout, whoami, contexts];

async function withKey(call: Call, url: string): Promise<{ apiKey: string }> {
  const given = call.text('key');
  const apiKey = given && given !== '-' ? given : await readSecret(call.terminal, `API key for ${url}: `);
  return { apiKey: apiKey.trim() };
}

async function asPerson(call: Call, url: string, email: string): Promise<{ session: string }> {
  const password = await readSecret(call.terminal, `Password of ${email}: `);
  try {
    const { session } = await Muster.signIn({ baseUrl: url, email, password });
    if (session) return { session };
  } catch (error) {
    if (!(error instanceof MusterError) || error.status !== 401) throw error;
    throw new Failure('unauthenticated', 'The email address or the password is wrong.', {
      exitCode: exitCodes.refused,
    });
  }
  throw new Failure('not_muster', `${url} signed in without a session.`, { exitCode: exitCodes.refused });
}

function addressOf(text: string): string {
  try {
    const { protocol, origin, pathname } = new URL(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
    if (/^https?:$/.test(protocol)) return `${origin}${pathname}`.replace(/\/+$/, '');
  } catch {
    // Said below.
  }
  throw usageFault(`${text} is no address.`, 'It looks like https://muster.example');
}

async function asked({ terminal }: Call, question: string): Promise<string> {
  if (!terminal.canAsk) throw usageFault('--url is missing.', 'muster login --url https://…');
  return (await ask(question)).trim();
}

/** Before anything secret is sent there. */
async function requireMuster(url: string): Promise<void> {
  let text: string;
  try {
    text = await (await fetch(`${url}/api/health`, { signal: AbortSignal.timeout(15_000) })).text();
  } catch (error) {
    const why = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name;
    throw new Failure('unreachable', `Nothing answers at ${url} (${why}).`, {
      hint: 'Is the service running, and is that its address?',
      exitCode: exitCodes.refused,
    });
  }
  if (/^\s*\{.*"uptimeSeconds"/s.test(text)) return;
  throw new Failure('not_muster', `Something answers at ${url}, but it is not Muster.`, {
    hint: 'Give the address where the console is, without /app.',
    exitCode: exitCodes.refused,
  });
}

function withoutSecrets({ name, url, email, organization }: Login) {
  return { name, url, email, organization };
}
