import { MusterError, Muster } from '@muster/sdk';
import { deviceEnd } from '@muster/sdk/operations';
import type { Call, Command } from '../frame/command';
import { exitCodes, Failure, usageFault } from '../frame/failure';
import type { Login } from '../frame/logins';
import { inLine } from '../output/plain';
import { beginDevice, keyOfDevice } from '../parts/device-login';
import { ask, readSecret } from '../parts/input';
import { clientOf } from '../frame/client';

const login: Command = {
  words: 'login',
  summary: 'Signs in: with an API key, or as a person with an email address',
  more:
    'In a terminal it opens a page of the service where you let this machine in, or takes an API key that you paste. ' +
    'Elsewhere the key or password is read from stdin, so that it is seen nowhere.',
  options: {
    url: { type: 'string', value: 'URL', about: 'the address of the service' },
    key: { type: 'string', value: 'KEY', about: 'an API key; - reads it from stdin' },
    browser: { type: 'boolean', about: 'waits until you let this machine in from a browser, wherever that is' },
    email: { type: 'string', value: 'EMAIL', about: 'signs in as a person: some commands are theirs alone' },
  },
  async run(call) {
    const { terminal, logins } = call;
    const url = addressOf(call.text('url') ?? (await asked(call, 'Address of the service: ')));
    await requireMuster(url);
    const email = call.text('email');
    const ways = [email, call.text('key'), call.flag('browser') || undefined].filter((way) => way !== undefined);
    if (ways.length > 1) throw usageFault('One of --key, --email and --browser.');
    const found = email ? await asPerson(call, url, email) : await withKey(call, url);
    const name = call.text('context') ?? new URL(url).host;
    const { user, organization } = await clientOf({ name, url, ...found }).signedIn.me();
    const kept: Login = { name, url, ...found, email: user.email ?? undefined, organization: organization.name };
    logins.keep(kept);
    terminal.show(
      withoutSecrets(kept),
      `Signed in to ${inLine(organization.name)} at ${url}${email ? ` as ${email}` : ''}.`,
    );
  },
};

const logout: Command = {
  words: 'logout',
  summary: 'Ends the login, and forgets it',
  async run({ login: current, logins, muster, terminal }) {
    const { name, session, byBrowser } = current();
    // One that has ended already is as good.
    if (session)
      await muster()
        .signedIn.signOut()
        .catch(() => undefined);
    if (byBrowser) await deviceEnd({ client: muster().client }).catch(() => undefined);
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

interface Found {
  apiKey: string;
  /** Made for this machine: signing out revokes it. */
  byBrowser?: true;
}

async function withKey(call: Call, url: string): Promise<Found> {
  const key = call.text('key');
  if (key && key !== '-') return { apiKey: key.trim() };
  if (call.flag('browser')) return { apiKey: (await keyOfDevice(url, await beginDevice(call, url)))!, byBrowser: true };
  if (!key && call.terminal.canAsk) return fromBrowserOrTyped(call, url);
  return { apiKey: (await readSecret(call.terminal, `API key for ${url}: `)).trim() };
}

/** Whichever comes first. */
async function fromBrowserOrTyped(call: Call, url: string): Promise<Found> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const codes = await beginDevice(call, url);
    const typed = ask(`Or paste an API key for ${url}: `, { hidden: true, signal });
    const fetched = keyOfDevice(url, codes, signal);
    const isFetched = await Promise.race([typed.then(() => false), fetched.then(() => true)]);
    over.abort();
    return isFetched ? { apiKey: (await fetched)!, byBrowser: true } : { apiKey: (await typed).trim() };
  } finally {
    over.abort();
  }
}

async function asPerson(call: Call, url: string, email: string): Promise<{ session: string }> {
  const password = await readSecret(call.terminal, `Password of ${email}: `);
  try {
    const secondFactor = () => secondFactorOf(call, email);
    const { session } = await Muster.signIn({ baseUrl: url, email, password, secondFactor });
    if (session) return { session };
  } catch (error) {
    if (!(error instanceof MusterError) || error.status !== 401) throw error;
    throw new Failure(error.code, error.message, { exitCode: exitCodes.refused });
  }
  throw new Failure('not_muster', `${url} signed in without a session.`, { exitCode: exitCodes.refused });
}

/** A code of six digits, or a recovery code, which is longer. */
async function secondFactorOf({ terminal }: Call, email: string): Promise<{ code: string } | { recoveryCode: string }> {
  if (!terminal.canAsk) {
    throw usageFault(`${email} signs in with a code too, and there is nobody to ask for it.`, 'muster login --key -');
  }
  const code = (await ask('Code of your authenticator app, or a recovery code: ')).trim();
  return /^[\d\s]{6,8}$/.test(code) ? { code } : { recoveryCode: code };
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
  let location: string | null;
  try {
    const answer = await fetch(`${url}/api/health`, { redirect: 'manual', signal: AbortSignal.timeout(15_000) });
    location = answer.status >= 300 && answer.status < 400 ? answer.headers.get('location') : null;
    text = await answer.text();
  } catch (error) {
    const why = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name;
    throw new Failure('unreachable', `Nothing answers at ${url} (${why}).`, {
      hint: 'Is the service running, and is that its address?',
      exitCode: exitCodes.refused,
    });
  }
  if (location !== null) {
    const target = URL.canParse(location, url) ? new URL(location, url).origin : location;
    throw new Failure('redirected', `${url} redirects to ${target}. Nothing was sent there.`, {
      hint: 'If that is your Muster, sign in there: muster login --url …',
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
