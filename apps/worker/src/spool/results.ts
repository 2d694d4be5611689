import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandResultBody } from '@muster/contracts';
import type { Result } from '../protocol/command';
import { readJson, writeAtomically } from '../host/files';
import { withOrigin, type LocalLog } from '../host/local-log';
import type { Origin } from '../protocol/origin';
import { serializeBody, verdictOf, type Answer, type Service } from '../protocol/service';

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

  has(commandId: string): boolean {
    return existsSync(this.pathOf(commandId));
  }

  put(commandId: string, result: Result, origin: Origin = {}): void {
    writeAtomically(this.pathOf(commandId), JSON.stringify({ ...result, origin } satisfies StoredResult));
    this.send(commandId);
  }

  /** Sends the results that are on disk, and each later result at once. */
  start(service: Service): void {
    this.service = service;
    const names = readdirSync(this.folder).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
    for (const name of names) this.send(name.slice(0, -'.json'.length));
  }

  /** Resolves when the service has accepted or refused the result. */
  async whenSent(commandId: string): Promise<void> {
    await this.sending.get(commandId);
  }

  async whenAllSent(): Promise<void> {
    await Promise.all(this.sending.values());
  }

  private send(commandId: string): void {
    if (!this.service || this.sending.has(commandId)) return;
    const done = this.deliver(this.service, commandId)
      .catch(() => undefined)
      .finally(() => this.sending.delete(commandId));
    this.sending.set(commandId, done);
  }

  private deliver(service: Service, commandId: string): Promise<void> {
    const { origin = {}, ...result } = readJson<StoredResult>(this.pathOf(commandId)) ?? {};
    return withOrigin(origin, () => this.post(service.with(origin), commandId, result));
  }

  private async post(service: Service, commandId: string, result: Partial<Result>): Promise<void> {
    const path = `/api/agents/${this.agentId}/commands/${commandId}/result`;
    const send = (body: Partial<Result>): Promise<Answer> => {
      const call = { method: 'POST' as const, path, text: serializeBody<Partial<CommandResultBody>>(body) };
      return service.insist(() => call);
    };
    let answer = await send(result);
    if ([400, 413, 422].includes(answer.status) && typeof result.output === 'string') {
      // A result with less output is better than none, because a caller waits for the result.
      this.log('error', 'the service rejected the output of a command; sending the result without it', {
        commandId,
        status: answer.status,
      });
      const output = `${result.output.slice(0, shortOutput)}\n… [cut: the service rejected the output]`;
      answer = await send({ ...result, output });
    }
    if (verdictOf(answer.status) === 'refused') {
      this.log('error', 'the service rejected a result; it is dropped', { commandId, status: answer.status });
    }
    rmSync(this.pathOf(commandId), { force: true });
  }

  private pathOf(commandId: string): string {
    return join(this.folder, `${commandId}.json`);
  }
}
