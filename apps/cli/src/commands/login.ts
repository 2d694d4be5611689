import { MusterError, Muster } from '@muster/sdk';
import { deviceEnd } from '@muster/sdk/operations';
import type { Call, Command } from '../frame/command';
import { getAddressHint, exitCodes, Failure, describeForeignService, createUsageError } from '../frame/failure';
import type { Login } from '../frame/logins';
import { toSafeLine } from '../output/plain';
import { requestDeviceLogin, waitForDeviceKey } from '../parts/device-login';
import { promptUser, readSecret } from '../parts/input';
import { createClient } from '../frame/client';

const login: Command = {
  words: 'login',
  summary: 'Sign in with an API key, or as a person with an email address',
  more:
    'In a terminal, approve the login on the page that opens in your browser, or paste an API key. Without a ' +
    'terminal, the API key or the password is read from stdin.',
  options: {
    url: { type: 'string', value: 'URL', about: 'Address of the service' },
    key: { type: 'string', value: 'KEY', about: 'API key; - reads it from stdin' },
    browser: { type: 'boolean', about: 'Wait until you approve the login in a browser, on any machine' },
    email: { type: 'string', value: 'EMAIL', about: 'Sign in as a person; some commands require it' },
  },
  async runCommand(call) {
    const { terminal, logins } = call;
    const url = normalizeAddress(call.text('url') ?? (await promptForAddress(call, 'Address of the service: ')));
    await requireMusterService(url);
    const email = call.text('email');
    const ways = [email, call.text('key'), call.flag('browser') || undefined].filter((way) => way !== undefined);
    if (ways.length > 1)
      throw createUsageError('--key, --email and --browser cannot be used together. Specify only one of them.');
    const found = email ? await signInAsPerson(call, url, email) : await signInWithKey(call, url);
    const name = call.text('context') ?? new URL(url).host;
    const saved = await verifyLogin({ name, url, ...found });
    logins.saveLogin(saved);
    terminal.printResult(
      omitSecrets(saved),
      `Signed in to ${toSafeLine(saved.organization)} at ${url}${email ? ` as ${email}` : ''}.`,
    );
  },
};

const logout: Command = {
  words: 'logout',
  summary: 'Sign out and delete the saved login',
  async runCommand({ login: current, logins, muster, terminal }) {
    const { name, session, byBrowser } = current();
    // A failure to end the session in the service is ignored, because the session may have ended already.
    if (session)
      await muster()
        .signedIn.signOut()
        .catch(() => undefined);
    if (byBrowser) await deviceEnd({ client: muster().client }).catch(() => undefined);
    logins.deleteStoredLogin(name);
    terminal.printResult({ name }, `Signed out of ${name}.`);
  },
};

const whoami: Command = {
  words: 'whoami',
  summary: 'Show the current login',
  async runCommand({ login: current, muster, terminal }) {
    const { name, url } = current();
    const { user, organization } = await muster().signedIn.me();
    terminal.printFields({ context: name, url, user, organization }, [
      ['context', name],
      ['service', url],
      ['user', user.email ?? `the API key ${user.id}`],
      ['role', user.role],
      ['organization', organization.name],
    ]);
  },
};

const contexts: Command = {
  words: 'contexts',
  args: '[name]',
  summary: 'List the saved logins, or switch to one by name',
  async runCommand({ args, logins, terminal }) {
    if (args[0]) logins.selectLogin(args[0]);
    terminal.printTable(
      logins.listLogins().map((each) => ({ ...omitSecrets(each), current: each.current })),
      [
        { title: '', cell: ({ current }) => (current ? '*' : ' ') },
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'SERVICE', cell: ({ url }) => url },
        { title: 'USER', cell: ({ email }) => email ?? 'an API key' },
        { title: 'ORGANIZATION', cell: ({ organization }) => organization },
      ],
      'There are no saved logins. To sign in, run muster login.',
    );
  },
};

export const loginCommands = [login, logout, whoami, contexts];

interface Found {
  apiKey: string;
  /** Whether the API key was created for this machine. If it was, signing out revokes the key. */
  byBrowser?: true;
}

async function signInWithKey(call: Call, url: string): Promise<Found> {
  const key = call.text('key');
  if (key && key !== '-') return { apiKey: key.trim() };
  if (call.flag('browser'))
    return { apiKey: (await waitForDeviceKey(url, await requestDeviceLogin(call, url)))!, byBrowser: true };
  if (!key && call.terminal.canAsk) return obtainKeyFromBrowserOrPrompt(call, url);
  return { apiKey: (await readSecret(call.terminal, `API key for ${url}: `)).trim() };
}

/** Returns the API key that is approved in the browser or pasted in the terminal, whichever is first. */
async function obtainKeyFromBrowserOrPrompt(call: Call, url: string): Promise<Found> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const codes = await requestDeviceLogin(call, url);
    const typed = promptUser(`Or paste an API key for ${url}: `, { hidden: true, signal });
    const fetched = waitForDeviceKey(url, codes, signal);
    const isFetched = await Promise.race([typed.then(() => false), fetched.then(() => true)]);
    over.abort();
    return isFetched ? { apiKey: (await fetched)!, byBrowser: true } : { apiKey: (await typed).trim() };
  } finally {
    over.abort();
  }
}

async function signInAsPerson(call: Call, url: string, email: string): Promise<{ session: string }> {
  const password = await readSecret(call.terminal, `Password of ${email}: `);
  try {
    const promptOwnSecondFactor = () => promptForSecondFactor(call, email);
    const { session } = await Muster.signIn({ baseUrl: url, email, password, secondFactor: promptOwnSecondFactor });
    if (session) return { session };
  } catch (error) {
    if (!(error instanceof MusterError) || error.status !== 401) throw error;
    throw new Failure(error.code, error.message, { exitCode: exitCodes.refused });
  }
  throw new Failure(
    'not_muster',
    `The server at ${url} accepted the password but returned no session. Check that the address is that of a Muster service.`,
    { exitCode: exitCodes.refused },
  );
}

/** Prompts for a code of six digits, or a recovery code, which is longer. */
async function promptForSecondFactor(
  { terminal }: Call,
  email: string,
): Promise<{ code: string } | { recoveryCode: string }> {
  if (!terminal.canAsk) {
    throw createUsageError(
      `${email} also requires a code, which can only be entered in a terminal.`,
      'To sign in with an API key instead, run muster login --key -',
    );
  }
  const code = (await promptUser('Code of your authenticator app, or a recovery code: ')).trim();
  return /^[\d\s]{6,8}$/.test(code) ? { code } : { recoveryCode: code };
}

function normalizeAddress(text: string): string {
  try {
    const { protocol, origin, pathname } = new URL(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
    if (/^https?:$/.test(protocol)) return `${origin}${pathname}`.replace(/\/+$/, '');
  } catch {
    // `new URL` throws if the text is not a URL. The usage error below is then thrown.
  }
  throw createUsageError(`${text} is not a valid address.`, 'Specify an address such as https://muster.example');
}

async function promptForAddress({ terminal }: Call, question: string): Promise<string> {
  if (!terminal.canAsk)
    throw createUsageError('--url is missing.', 'Specify the address: muster login --url https://…');
  return (await promptUser(question)).trim();
}

/** Checks that the address belongs to a Muster service, before any secret is sent to it. */
async function requireMusterService(url: string): Promise<void> {
  let text: string;
  let location: string | null;
  try {
    const answer = await fetch(`${url}/api/health`, { redirect: 'manual', signal: AbortSignal.timeout(15_000) });
    location = answer.status >= 300 && answer.status < 400 ? answer.headers.get('location') : null;
    text = await answer.text();
  } catch (error) {
    const why = (error as { cause?: { code?: string } }).cause?.code ?? (error as Error).name;
    throw new Failure('unreachable', `The service at ${url} cannot be reached (${why}).`, {
      hint: 'Check that the service is running and that the address is correct.',
      exitCode: exitCodes.refused,
    });
  }
  if (location !== null) {
    const target = URL.canParse(location, url) ? new URL(location, url).origin : location;
    throw new Failure('redirected', `${url} redirects to ${target}. No credentials were sent.`, {
      hint: 'If the target is your Muster service, sign in there: muster login --url …',
      exitCode: exitCodes.refused,
    });
  }
  if (/^\s*\{.*"uptimeSeconds"/s.test(text)) return;
  throw createNotMusterError(url);
}

/** Signs in, and returns the login with the names of the user and the organization. */
async function verifyLogin(login: Login): Promise<Required<Pick<Login, 'organization'>> & Login> {
  const client = createClient(login);
  const answer: Partial<Awaited<ReturnType<typeof client.signedIn.me>>> | null = await client.signedIn.me();
  if (!answer?.user || !answer.organization) throw createNotMusterError(login.url);
  return { ...login, email: answer.user.email ?? undefined, organization: answer.organization.name };
}

function createNotMusterError(url: string): Failure {
  return new Failure('not_muster', describeForeignService(url), {
    hint: getAddressHint(url),
    exitCode: exitCodes.refused,
  });
}

function omitSecrets({ name, url, email, organization }: Login) {
  return { name, url, email, organization };
}
