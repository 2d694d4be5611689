import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { AskedQuestion, AskQuestionBody, GivenTotp, GiveTotpBody, QuestionForWorker } from '@muster/contracts';
import { readJson, writeAtomically } from '../host/files';
import type { LocalLog } from '../host/local-log';
import { waitUnlessAborted } from '../host/waiting';
import { computeBackoffMs } from '../protocol/backoff';
import { describeRefusal } from '../protocol/callbacks';
import { isObject, toStringOrEmpty } from '../protocol/command';
import {
  type Answer as ServiceAnswer,
  getErrorMessage,
  type Service,
  serializeBody,
  classifyStatus,
} from '../protocol/service';
import { uploadFile } from '../protocol/upload';
import { browserFile, RunScreen } from '../screens/run-screen';
import type { KnownSecrets } from './redactor';

/** Folders for the script's questions and their answers. Both survive a restart of the worker. */
const asksFolder = 'asks';
const answersFolder = 'answers';
/**
 * Names of the files and folders in a run's folder that are about its questions to people. They are removed when the
 * run ends.
 */
export const filesForPeople = [asksFolder, answersFolder, browserFile];

/** Interval at which an answer is fetched, in case the command with the answer is lost. */
const lookEveryMs = 20_000;
const waitSeconds = 25;
const longestAsk = 1024 * 1024;
/**
 * Timeout of a request for a TOTP code, in milliseconds. If the service sends the code of the next time window, it
 * answers only when that window starts.
 */
const longestWindowMs = 10 * 60_000;

export interface AsksContext {
  service: Service;
  facts: { agentId: string };
  log: LocalLog;
  secrets: KnownSecrets;
}

/** Content of an answer file, which the script reads. */
interface Answer {
  status: string;
  answer?: unknown;
  reason?: string | null;
  /** Error of a question that the service refused, for the script. */
  error?: string;
  /** Whether the answer is secret, such as a one-time code, and must be redacted in the run's output. */
  secret?: boolean;
}

/**
 * Returns the one-time codes that the run has received, because a worker that takes the run over must redact them too.
 */
export function readReceivedCodes(root: string): string[] {
  return listFileNames(join(root, answersFolder)).flatMap((name) => {
    const { secret, answer } = readJson<Partial<Answer>>(join(root, answersFolder, name)) ?? {};
    return secret && typeof answer === 'string' ? [answer] : [];
  });
}

/**
 * Sends the questions of a run to people, and shows them its browser. The script writes a question to a file and waits
 * for a file with the answer, so it does not need the service, and a restart of the worker does not affect it. The
 * service stores each question once.
 */
export class Asks {
  private readonly followed = new Set<string>();
  /** Keys of the questions that let people use the browser until they are answered. */
  private readonly takeovers = new Set<string>();
  private readonly over = new AbortController();
  private readonly screen: RunScreen;

  constructor(
    private readonly root: string,
    private readonly jobId: string,
    private readonly context: AsksContext,
  ) {
    const acceptsScreenInput = () => [...this.takeovers].some((key) => !this.isAnswered(key));
    this.screen = new RunScreen(root, jobId, { ...context, allowsInput: acceptsScreenInput });
  }

  /** Sends the script's new questions to the service, and shows its browser as soon as it has one. */
  findNewQuestions(): void {
    this.screen.findBrowser();
    for (const name of listFileNames(join(this.root, asksFolder))) {
      const key = basename(name, '.json');
      if (this.followed.has(key)) continue;
      this.followed.add(key);
      if (this.isAnswered(key)) continue;
      this.followQuestion(key).catch((error: unknown) => {
        if (!this.over.signal.aborted)
          this.context.log('error', 'could not send a question of the script', { key, why: getErrorMessage(error) });
      });
    }
  }

  /** Stores the answer that an `answer` command contains. */
  deliverAnswer({ questionKey, status, answer, reason, kind }: Record<string, unknown>): void {
    const key = toStringOrEmpty(questionKey);
    if (!keyPattern.test(key)) return;
    // An answer of any type arrives as JSON text.
    const value: unknown = typeof answer === 'string' ? JSON.parse(answer) : undefined;
    this.writeAnswer(key, {
      status: toStringOrEmpty(status),
      answer: value,
      reason: toStringOrEmpty(reason) || null,
      secret: kind === 'code',
    });
  }

  stopWaiting(): void {
    this.over.abort();
    this.screen.stop();
  }

  private async followQuestion(key: string): Promise<void> {
    const { service, log } = this.context;
    const request = readJson<Record<string, unknown>>(join(this.root, asksFolder, `${key}.json`));
    if (!isObject(request)) return this.writeAnswer(key, { status: 'refused', error: 'the question cannot be read' });
    if (request.takeover === true) this.takeovers.add(key);
    if (toStringOrEmpty(request.totp)) return this.fetchCode(key, toStringOrEmpty(request.totp));
    const question = this.context.secrets.redactor.redactDeep(request);
    const screenshotKey = await this.uploadScreenshot(request);
    const fields = { ...question, screenshotFile: undefined, questionKey: key, screenshotKey };
    const text = serializeBody<AskQuestionBody>(fields as unknown as AskQuestionBody);
    if (text.length > longestAsk)
      return this.writeAnswer(key, { status: 'refused', error: 'the question is too large' });
    const path = `/api/jobs/${this.jobId}/questions`;
    const answer = await this.callUntilAccepted(() =>
      service.callService<AskedQuestion>({ method: 'POST', path, text }),
    );
    const questionId = toStringOrEmpty(answer.body.questionId);
    if (classifyStatus(answer.status) !== 'delivered' || !questionId) {
      return this.writeAnswer(key, { status: 'refused', error: describeRefusal(answer) });
    }
    log('info', 'the run asked a person and waits for the answer', { jobId: this.jobId, questionId });
    // If the question was answered while no worker ran, its answer is fetched at once.
    let wait = answer.body.status === 'open' ? 0 : waitSeconds;
    while (!this.isAnswered(key)) {
      if (wait === 0) await waitUnlessAborted(lookEveryMs, this.over.signal);
      this.over.signal.throwIfAborted();
      if (this.isAnswered(key)) return;
      await this.fetchAnswer(key, `${path}/${questionId}?wait=${wait}`);
      wait = 0;
    }
  }

  private async fetchCode(key: string, name: string): Promise<void> {
    const path = `/api/jobs/${this.jobId}/totp`;
    const text = serializeBody<GiveTotpBody>({ key: name });
    const requestCode = () =>
      this.context.service.callService<GivenTotp>({ method: 'POST', path, text, timeoutMs: longestWindowMs });
    const { status, body } = await this.callUntilAccepted(requestCode);
    if (classifyStatus(status) !== 'delivered')
      return this.writeAnswer(key, { status: 'refused', error: describeRefusal({ status, body }) });
    this.writeAnswer(key, { status: 'answered', answer: toStringOrEmpty(body.code), secret: true });
  }

  private async fetchAnswer(key: string, path: string): Promise<void> {
    const { service } = this.context;
    const answer = await this.callUntilAccepted(() =>
      service.callService<QuestionForWorker>({ method: 'GET', path, timeoutMs: 60_000 }),
    );
    const { status, answer: value, reason, kind } = answer.body;
    if (classifyStatus(answer.status) !== 'delivered')
      return this.writeAnswer(key, { status: 'refused', error: describeRefusal(answer) });
    if (status === 'open') return;
    this.writeAnswer(key, {
      status: toStringOrEmpty(status),
      answer: value,
      reason: toStringOrEmpty(reason) || null,
      secret: kind === 'code',
    });
  }

  /**
   * Uploads the question's screenshot and returns its key. If that fails, the question is sent without one. A question
   * for an inbound address tries only once, because a code that arrives before the question does not answer it.
   */
  private async uploadScreenshot({ screenshotFile, inbound }: Record<string, unknown>): Promise<string | undefined> {
    const { service, facts, log } = this.context;
    const name = toStringOrEmpty(screenshotFile);
    if (!/^[0-9a-f]{32}$/.test(name)) return undefined;
    const path = join(this.root, 'uploads', name);
    const upload = { path, filename: 'question.png', jobId: this.jobId, agentId: facts.agentId };
    const attempts = inbound ? 1 : 3;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const sent = await uploadFile(service, upload, this.over.signal).catch(() => null);
      if (sent?.verdict === 'delivered') return sent.key;
      if (sent?.verdict === 'refused') break;
      await waitUnlessAborted(computeBackoffMs(attempt, undefined, sent?.retryAfterMs), this.over.signal);
    }
    log('warn', 'could not upload the screenshot of a question; sending the question without it', {
      jobId: this.jobId,
    });
    return undefined;
  }

  private async callUntilAccepted<Body>(call: () => Promise<ServiceAnswer<Body>>): Promise<ServiceAnswer<Body>> {
    for (let attempt = 1; ; attempt += 1) {
      this.over.signal.throwIfAborted();
      const answer = await call().catch(() => null);
      if (answer && classifyStatus(answer.status) !== 'later') return answer;
      await waitUnlessAborted(computeBackoffMs(attempt, undefined, answer?.retryAfterMs), this.over.signal);
    }
  }

  /** Writes an answer if there is none yet. A secret answer is redacted before the script can read it. */
  private writeAnswer(key: string, answer: Answer): void {
    if (this.over.signal.aborted || this.isAnswered(key)) return;
    if (answer.secret && typeof answer.answer === 'string') this.context.secrets.addSecret(answer.answer);
    mkdirSync(join(this.root, answersFolder), { recursive: true, mode: 0o700 });
    writeAtomically(join(this.root, answersFolder, `${key}.json`), JSON.stringify(answer));
  }

  private isAnswered(key: string): boolean {
    return existsSync(join(this.root, answersFolder, `${key}.json`));
  }
}

const keyPattern = /^[0-9a-f]{32}$/;

function listFileNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[0-9a-f]{32}\.json$/.test(name));
  } catch {
    return [];
  }
}
