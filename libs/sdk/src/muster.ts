import { authLogin, secondFactorLogin, type SecondFactorProof, type SignInNeeds } from './generated';
import type { Client } from './generated/client';
import { makeClient } from './make-client';
import { MusterError } from './muster-error';
import { Agents } from './resources/agents';
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
  /** Where the service is, such as `https://muster.example`. In its own pages it is `''`. */
  baseUrl: string;
  /** `msk_…`: works with a member's rights. */
  apiKey?: string;
  /** A session's cookie, `name=value`, as `session` of one that has signed in. A browser has its own. */
  session?: string;
  /** How often a call is made again that was answered with 429 or 503, or whose answer was lost; 4. */
  maxRetries?: number;
  /** A Retry-After that asks for more than this is an error at once; 60,000. */
  maxRetryAfterMs?: number;
  /** A longer answer fails with the code `not_muster`; no limit. */
  maxResponseBytes?: number;
  fetch?: typeof fetch;
  /** Sent with each call. */
  headers?: Record<string, string>;
}

/** The service, as its user sees it. Whatever has no method here is an operation that takes `client`. */
export class Muster {
  /** For the operations of `@muster/sdk/operations`: `auditList({ client: muster.client })`. */
  readonly client: Client;
  /** The cookie of the session that it calls with, to be kept like a password. */
  readonly session: string | undefined;
  readonly agents: Agents;
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
    // Taken when it is called, and on its own: a browser's fetch refuses to be anybody's method.
    const fetch: typeof globalThis.fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const trimmed = baseUrl.replace(/\/+$/, '');
    this.session = session;
    const { maxResponseBytes } = options;
    const retrying = { maxRetries, maxRetryAfterMs, maxResponseBytes };
    this.client = makeClient({ baseUrl: trimmed, apiKey, session, fetch, headers, ...retrying });
    this.agents = new Agents(this.client);
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
   * Signs in as a person: some calls are theirs alone. `secondFactor` is asked where the account has one; without it
   * the error has the code `second_factor_required`.
   */
  static async signIn(
    options: MusterOptions & { email: string; password: string; secondFactor?: () => Promise<SecondFactorProof> },
  ): Promise<Muster> {
    const { email, password, secondFactor, ...rest } = options;
    let session: string | undefined;
    const own = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    const watching: typeof fetch = async (input, init) => {
      const response = await own(input, init);
      // A browser keeps it, and shows it to nobody.
      session =
        response.headers
          .getSetCookie?.()
          .map((cookie) => cookie.split(';')[0]!)
          .find(isSession) ?? session;
      return response;
    };
    const { client } = new Muster({ ...rest, fetch: watching });
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
    detail: 'This account signs in with a code of its second factor too.',
  },
  passkey: {
    code: 'second_factor_required',
    detail: 'This account signs in with a passkey, which a browser alone can ask for; use an API key instead.',
  },
  enrolment: {
    code: 'enrolment_required',
    detail: 'The organization requires a second factor: sign in to the console once, and set it up there.',
  },
};

function isSession(cookie: string): boolean {
  return /^(__Host-)?muster_session=./.test(cookie);
}
