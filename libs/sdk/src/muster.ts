import { authLogin, secondFactorLogin, type SecondFactorProof, type SignInNeeds } from './generated';
import type { Client } from './generated/client';
import { makeClient } from './make-client';
import { MusterError } from './muster-error';
import { Accounts } from './resources/accounts';
import { Agents } from './resources/agents';
import { Alerts } from './resources/alerts';
import { Batches } from './resources/batches';
import { Installations } from './resources/installations';
import { Jobs } from './resources/jobs';
import { Costs, Processes, Secrets, Session, Usage } from './resources/organization';
import { Packs } from './resources/packs';
import { Questions } from './resources/questions';
import { Schedules } from './resources/schedules';
import { WebhookEndpoints } from './resources/webhook-endpoints';
import { Workflows } from './resources/workflows';

export interface MusterOptions {
  /** Address of the service, such as `https://muster.example`. Use `''` in pages of the service itself. */
  baseUrl: string;
  /** API key, `msk_…`. It has the rights of a member. */
  apiKey?: string;
  /** Session cookie, `name=value`: the `session` of a Muster client that has signed in. Not needed in a browser. */
  session?: string;
  /** Maximum number of retries after a 429 or 503 response, or a lost response. Default 4. */
  maxRetries?: number;
  /**
   * Maximum Retry-After to wait for, in milliseconds. A call with a longer Retry-After fails immediately. Default
   * 60,000.
   */
  maxRetryAfterMs?: number;
  /** Maximum size of a response, in bytes. A larger response fails with the code `not_muster`. Default no limit. */
  maxResponseBytes?: number;
  fetch?: typeof fetch;
  /** Headers to send with each call. */
  headers?: Record<string, string>;
}

/** A client of the service. An operation without a method here is a function that takes `client`. */
export class Muster {
  /** Client for the functions of `@muster/sdk/operations`, such as `auditList({ client: muster.client })`. */
  readonly client: Client;
  /** Session cookie of this client. Protect it like a password. */
  readonly session: string | undefined;
  readonly accounts: Accounts;
  readonly agents: Agents;
  readonly alerts: Alerts;
  readonly batches: Batches;
  readonly costs: Costs;
  readonly installations: Installations;
  readonly jobs: Jobs;
  readonly packs: Packs;
  readonly processes: Processes;
  readonly questions: Questions;
  readonly schedules: Schedules;
  readonly secrets: Secrets;
  readonly signedIn: Session;
  readonly usage: Usage;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly workflows: Workflows;

  constructor(options: MusterOptions) {
    const { baseUrl, apiKey, session, maxRetries = 4, maxRetryAfterMs = 60_000, headers = {} } = options;
    // `fetch` is wrapped in a function, because a browser's `fetch` throws if it is called as a method of another
    // object.
    const fetch: typeof globalThis.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const trimmed = baseUrl.replace(/\/+$/, '');
    this.session = session;
    const { maxResponseBytes } = options;
    const retrying = { maxRetries, maxRetryAfterMs, maxResponseBytes };
    this.client = makeClient({ baseUrl: trimmed, apiKey, session, fetch, headers, ...retrying });
    this.accounts = new Accounts(this.client);
    this.agents = new Agents(this.client);
    this.alerts = new Alerts(this.client);
    this.batches = new Batches(this.client);
    this.costs = new Costs(this.client);
    this.installations = new Installations(this.client);
    this.jobs = new Jobs(this.client);
    this.packs = new Packs(this.client);
    this.processes = new Processes(this.client);
    this.questions = new Questions(this.client);
    this.schedules = new Schedules(this.client);
    this.secrets = new Secrets(this.client);
    this.signedIn = new Session(this.client);
    this.usage = new Usage(this.client);
    this.webhookEndpoints = new WebhookEndpoints(this.client);
    this.workflows = new Workflows(this.client);
  }

  /**
   * Signs in as a person, which some calls require. Calls `secondFactor` if the account has a second factor. Without
   * `secondFactor`, such an account gets an error with the code `second_factor_required`.
   */
  static async signIn(
    options: MusterOptions & { email: string; password: string; secondFactor?: () => Promise<SecondFactorProof> },
  ): Promise<Muster> {
    const { email, password, secondFactor, ...rest } = options;
    let session: string | undefined;
    const own = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const captureSessionCookie: typeof fetch = async (input, init) => {
      const response = await own(input, init);
      // In a browser the session is undefined: the browser stores the cookie and does not show it to scripts.
      session =
        response.headers
          .getSetCookie?.()
          .map((cookie) => cookie.split(';')[0]!)
          .find(isSessionCookie) ?? session;
      return response;
    };
    const { client } = new Muster({ ...rest, fetch: captureSessionCookie });
    const answer = await authLogin({ client, body: { email, password } });
    if ('needs' in answer) {
      const { needs, ticket } = answer as SignInNeeds;
      const proof = needs === 'totp' ? await secondFactor?.() : undefined;
      if (!proof) throw new MusterError(401, refusals[needs]);
      await secondFactorLogin({ client, body: { ticket, ...proof } });
    }
    return new Muster({ ...rest, session });
  }
}

const refusals = {
  totp: {
    code: 'second_factor_required',
    detail: 'This account requires a code of its second factor. Pass the option secondFactor, or use an API key.',
  },
  passkey: {
    code: 'second_factor_required',
    detail: 'This account requires a passkey, which works only in a browser. Use an API key instead.',
  },
  enrolment: {
    code: 'enrolment_required',
    detail: 'The organization requires a second factor. Sign in to the console and set one up.',
  },
};

function isSessionCookie(cookie: string): boolean {
  return /^(__Host-)?muster_session=./.test(cookie);
}
