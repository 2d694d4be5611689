import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandResultBody } from '@muster/contracts';
import type { Result } from '../protocol/command';
import { readJson, writeAtomically } from '../host/files';
import { runWithOrigin, type LocalLog } from '../host/local-log';
import type { Origin } from '../protocol/origin';
import { serializeBody, classifyStatus, type Answer, type Service } from '../protocol/service';

/** Content of a result file. A file of an older worker has no origin. */
type StoredResult = Partial<Result> & { origin?: Origin };

const shortOutput = 100_000;

/** Results of commands, each in a file until the service has accepted or refused it. */
export class Results {
  private readonly folder: string;
  private readonly sending = new Map<string, Promise<void>>();
  private service: Service | null = null;

  constructor(
    folder: string,
    private readonly agentId: string,
    private readonly log: LocalLog,
  ) {
    this.folder = join(folder, 'results');
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
  }

  hasResult(commandId: string): boolean {
    return existsSync(this.getPath(commandId));
  }

  storeResult(commandId: string, result: Result, origin: Origin = {}): void {
    writeAtomically(this.getPath(commandId), JSON.stringify({ ...result, origin } satisfies StoredResult));
    this.sendInBackground(commandId);
  }

  /** Sends the results that are on disk, and each later result at once. */
  startSending(service: Service): void {
    this.service = service;
    const names = readdirSync(this.folder).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
    for (const name of names) this.sendInBackground(name.slice(0, -'.json'.length));
  }

  /** Resolves when the service has accepted or refused the result. */
  async waitUntilSent(commandId: string): Promise<void> {
    await this.sending.get(commandId);
  }

  async waitUntilAllSent(): Promise<void> {
    await Promise.all(this.sending.values());
  }

  private sendInBackground(commandId: string): void {
    if (!this.service || this.sending.has(commandId)) return;
    const done = this.deliverResult(this.service, commandId)
      .catch(() => undefined)
      .finally(() => this.sending.delete(commandId));
    this.sending.set(commandId, done);
  }

  private deliverResult(service: Service, commandId: string): Promise<void> {
    const { origin = {}, ...result } = readJson<StoredResult>(this.getPath(commandId)) ?? {};
    return runWithOrigin(origin, () => this.postResult(service.copyWithHeaders(origin), commandId, result));
  }

  private async postResult(service: Service, commandId: string, result: Partial<Result>): Promise<void> {
    const path = `/api/agents/${this.agentId}/commands/${commandId}/result`;
    const sendBody = (body: Partial<Result>): Promise<Answer> => {
      const call = { method: 'POST' as const, path, text: serializeBody<Partial<CommandResultBody>>(body) };
      return service.callUntilAnswered(() => call);
    };
    let answer = await sendBody(result);
    if ([400, 413, 422].includes(answer.status) && typeof result.output === 'string') {
      // A result with less output is better than none, because a caller waits for the result.
      this.log('error', 'the service rejected the output of a command; sending the result without it', {
        commandId,
        status: answer.status,
      });
      const output = `${result.output.slice(0, shortOutput)}\n… [cut: the service rejected the output]`;
      answer = await sendBody({ ...result, output });
    }
    if (classifyStatus(answer.status) === 'refused') {
      this.log('error', 'the service rejected a result; it is dropped', { commandId, status: answer.status });
    }
    rmSync(this.getPath(commandId), { force: true });
  }

  private getPath(commandId: string): string {
    return join(this.folder, `${commandId}.json`);
  }
}
