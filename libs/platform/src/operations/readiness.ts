import { Injectable } from '@nestjs/common';
import { within } from '../context/within';

export interface CheckResult {
  status: 'ok' | 'failed';
  latencyMs: number | null;
  reason?: string;
}

export type Check = () => Promise<void>;

/** The things that a process needs, each registered by the piece that owns it, each asked in bounded time. */
@Injectable()
export class Readiness {
  private readonly checks = new Map<string, { check: Check; required: boolean; deep?: Check }>();
  private draining = false;

  /**
   * A required check keeps the process out of rotation while it fails. What only deep health asks is whether there is
   * room to write: a process that can still read stays in rotation.
   */
  register(name: string, check: Check, { required, deep }: { required: boolean; deep?: Check }): void {
    this.checks.set(name, { check, required, deep: deep && atMostEvery(deepCheckMs, deep) });
  }

  /** From now on this process wants no new work. */
  drain(): void {
    this.draining = true;
  }

  get isDraining(): boolean {
    return this.draining;
  }

  /** As `run`, and whether it can be written to. */
  runDeep(name: string): Promise<CheckResult> {
    const { check, deep } = this.checks.get(name) ?? {};
    return this.time(check && (() => check().then(deep)));
  }

  run(name: string, timeoutMs = 2000): Promise<CheckResult> {
    return this.time(this.checks.get(name)?.check, timeoutMs);
  }

  private async time(check: Check | undefined, timeoutMs = 2000): Promise<CheckResult> {
    if (!check) return { status: 'failed', latencyMs: null, reason: 'not part of this process' };
    const started = performance.now();
    try {
      await within(timeoutMs, check(), () => {
        throw new Error(`no answer within ${timeoutMs} ms`);
      });
      return { status: 'ok', latencyMs: round(performance.now() - started) };
    } catch (error) {
      return { status: 'failed', latencyMs: null, reason: reasonOf(error) };
    }
  }

  async ready(): Promise<{ ready: boolean; checks: Record<string, CheckResult> }> {
    const names = [...this.checks.keys()];
    const results = await Promise.all(names.map((name) => this.run(name)));
    const checks = Object.fromEntries(names.map((name, index) => [name, results[index]!]));
    const missing = names.some((name) => this.checks.get(name)?.required && checks[name]?.status !== 'ok');
    return { ready: !this.draining && !missing, checks };
  }
}

const deepCheckMs = 5000;

/** Writing costs, and anybody may ask: in between a good answer holds. A bad one may be mended by the next moment. */
function atMostEvery(ms: number, check: Check): Check {
  let last: { at: number; answer: Promise<void> } | undefined;
  return () => {
    if (last && performance.now() - last.at <= ms) return last.answer;
    const asked = { at: performance.now(), answer: check() };
    last = asked;
    asked.answer.catch(() => {
      if (last === asked) last = undefined;
    });
    return asked.answer;
  };
}

/** A reason for the reader of a probe, without hosts, users or stack. */
function reasonOf(error: unknown): string {
  const { code, message, driverError } = error as { code?: string; message?: string; driverError?: { code?: string } };
  if ((code ?? driverError?.code) === '53100' || code === 'full') return 'no room to write';
  return /^no answer within|pending|not connected/.test(message ?? '') ? message! : (code ?? 'no connection');
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
