import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { type BenchStack, runOnBenchStack } from './bench-stack';
import { makeBenchTenant } from './bench-tenant';
import { Child } from './child';
import { formatMilliseconds, printReport } from './print-report';
import { computeMedian, computePercentile, type Round, runInTurns } from './rounds';
import { chooseSize } from './short';

// Measures the cost of the access log when runs are read, and the time of a sign-in while others guess passwords.

/** Enough runs that hardly any page is read twice within a minute, because repeated reads add no row. */
const runs = chooseSize(10_000, 50);
const guessesPerSecond = 50;
const owner = { email: 'owner@bench.example.com', password: randomBytes(12).toString('base64url') };

void runOnBenchStack(async (stack) => {
  const masterKeys = `bench:${randomBytes(32).toString('base64')}`;
  const logged = await startGateway('../../apps/gateway/src/main.js', stack, masterKeys);
  const unlogged = await startGateway('identity-unlogged.js', stack, masterKeys);
  try {
    const { apiKey, jobIds } = await makeBenchTenant(stack, runs);
    await comparePages({ logged, unlogged }, { apiKey, jobIds });
    await compareSignIns(logged.url);
  } finally {
    await Promise.all([logged.stop(), unlogged.stop()]);
  }
});

/** Starts a gateway as in production, except for limits that a benchmark would exceed. */
function startGateway(main: string, { databaseUrl, redisUrl }: BenchStack, masterKeys: string): Promise<Child> {
  return Child.start(join(__dirname, main), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    REDIS_URL: redisUrl,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: masterKeys,
    PORT: '0',
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '100000000',
    // Each guess comes from an address of its own.
    TRUST_PROXY: '127.0.0.1',
    BOOTSTRAP_ORGANIZATION: 'Bench',
    BOOTSTRAP_ADMIN_EMAIL: owner.email,
    BOOTSTRAP_ADMIN_PASSWORD: owner.password,
  });
}

interface PageRound extends Round {
  p99: number;
}

/** Reads the pages of runs: the run, its steps and its log, each of which leaves a row in the access log. */
async function comparePages(
  gateways: { logged: Child; unlogged: Child },
  { apiKey, jobIds }: { apiKey: string; jobIds: string[] },
): Promise<void> {
  const paths = jobIds.flatMap((id) => [`/api/jobs/${id}`, `/api/jobs/${id}/steps`, `/api/jobs/${id}/logs`]);
  const load = async (url: string): Promise<PageRound> => {
    let next = 0;
    const setupRequest = (request: autocannon.Request) => ({ ...request, path: paths[next++ % paths.length]! });
    const result = await autocannon({
      ...{ url, headers: { 'x-api-key': apiKey }, connections: 8, duration: chooseSize(5, 1) },
      requests: [{ method: 'GET', setupRequest }],
    });
    if (result.non2xx + result.errors > 0) throw new Error(`${url} did not answer every request with 200`);
    return { perSecond: result['2xx'] / result.duration / 3, p99: result.latency.p99 };
  };
  const compared = await runInTurns(
    9,
    () => load(gateways.unlogged.url),
    () => load(gateways.logged.url),
  );
  const median = (rounds: PageRound[]) => formatMilliseconds(computeMedian(rounds.map(({ p99 }) => p99)));
  printReport({ name: 'identity', target: 0.95, unit: 'pages' }, compared, [
    ['latency p99', median(compared.baseline), median(compared.subject)],
  ]);
}

/** Signs in one at a time, in turns: while nobody else does, and while others guess passwords of other accounts. */
async function compareSignIns(url: string): Promise<void> {
  const times = { quiet: [] as number[], guessed: [] as number[] };
  const answers = new Map<number, number>();
  // The first sign-in makes the address known, as that of a user at the usual place is.
  await signIn(url);
  for (let round = 0; round < chooseSize(4, 1); round += 1) {
    times.quiet.push(...(await measureSignIns(url)));
    const stop = startGuesses(url, (status) => answers.set(status, (answers.get(status) ?? 0) + 1));
    try {
      times.guessed.push(...(await measureSignIns(url)));
    } finally {
      await stop();
    }
  }
  const format = (list: number[]) =>
    [50, 99].map((percent) => `p${percent} ${formatMilliseconds(computePercentile(list, percent))}`).join(', ');
  const ratio = computePercentile(times.guessed, 99) / computePercentile(times.quiet, 99);
  const statuses = [...answers].sort().map(([status, count]) => `${count} answered ${status}`);
  console.log(
    `identity: sign-in: ${format(times.quiet)}; with ${guessesPerSecond} guesses a second ${format(times.guessed)}`,
  );
  console.log(`identity: p99 of a sign-in with guesses: ${ratio.toFixed(2)} times (${statuses.join(', ')})\n`);
}

async function measureSignIns(url: string): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < chooseSize(50, 3); count += 1) {
    const began = performance.now();
    await signIn(url);
    times.push(performance.now() - began);
  }
  return times;
}

async function signIn(url: string): Promise<void> {
  const { status } = await postLogin(url, owner, {});
  if (status !== 200) throw new Error(`the sign-in was answered ${status}`);
}

/** Sends guesses at fixed times, whether or not earlier ones are answered. Returns a function that ends them. */
function startGuesses(url: string, onAnswer: (status: number) => void): () => Promise<void> {
  const open = new Set<Promise<void>>();
  let count = 0;
  const guess = () => {
    count += 1;
    const address = `198.18.${(count >> 8) & 255}.${count & 255}`;
    const body = { email: `guess-${randomUUID()}@bench.example.com`, password: 'a wrong guess' };
    const sent = postLogin(url, body, { 'x-forwarded-for': address }).then(({ status }) => onAnswer(status));
    open.add(sent);
    void sent.finally(() => open.delete(sent));
  };
  const timer = setInterval(guess, 1000 / guessesPerSecond);
  return async () => {
    clearInterval(timer);
    await Promise.all(open);
  };
}

async function postLogin(url: string, body: object, headers: Record<string, string>): Promise<{ status: number }> {
  const response = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response;
}
