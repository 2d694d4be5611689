import { Injectable } from '@nestjs/common';
import { finishWithin } from '../context/finish-within';

export interface CheckResult {
  status: 'ok' | 'failed';
  latencyMs: number | null;
  reason?: string;
}

export type Check = () => Promise<void>;

/**
 * Checks of the resources that a process needs. The lib that owns a resource registers its check, and each check has a
 * time limit.
 */
@Injectable()
export class Readiness {
  private readonly checks = new Map<string, { check: Check; required: boolean; deep?: Check }>();
  private draining = false;

  /**
   * Registers a check. While a required check fails, the process is out of rotation. Only deep health runs `deep`,
   * which checks that the resource can be written to: a process that can still read stays in rotation.
   */
  registerCheck(name: string, check: Check, { required, deep }: { required: boolean; deep?: Check }): void {
    this.checks.set(name, { check, required, deep: deep && reuseSuccessfulCheck(deepCheckMs, deep) });
  }

  /** Reports the process as not ready from now on, so that it gets no new requests before it ends. */
  startDraining(): void {
    this.draining = true;
  }

  get isDraining(): boolean {
    return this.draining;
  }

  /** Like `runCheck`, but also checks that the resource can be written to. */
  runDeepCheck(name: string): Promise<CheckResult> {
    const { check, deep } = this.checks.get(name) ?? {};
    return this.runWithTimeout(check && (() => check().then(deep)));
  }

  runCheck(name: string, timeoutMs = 2000): Promise<CheckResult> {
    return this.runWithTimeout(this.checks.get(name)?.check, timeoutMs);
  }

  private async runWithTimeout(check: Check | undefined, timeoutMs = 2000): Promise<CheckResult> {
    if (!check) return { status: 'failed', latencyMs: null, reason: 'not part of this process' };
    const started = performance.now();
    try {
      await finishWithin(timeoutMs, check(), () => {
        throw new Error(`no answer within ${timeoutMs} ms`);
      });
      return { status: 'ok', latencyMs: roundMilliseconds(performance.now() - started) };
    } catch (error) {
      return { status: 'failed', latencyMs: null, reason: describeCheckError(error) };
    }
  }

  async checkReadiness(): Promise<{ ready: boolean; checks: Record<string, CheckResult> }> {
    const names = [...this.checks.keys()];
    const results = await Promise.all(names.map((name) => this.runCheck(name)));
    const checks = Object.fromEntries(names.map((name, index) => [name, results[index]!]));
    const missing = names.some((name) => this.checks.get(name)?.required && checks[name]?.status !== 'ok');
    return { ready: !this.draining && !missing, checks };
  }
}

const deepCheckMs = 5000;

/**
 * Reuses a successful result for this time, because the check writes and any client may request it. A failure is not
 * reused, because its cause may be gone the next moment.
 */
function reuseSuccessfulCheck(ms: number, check: Check): Check {
  let last: { at: number; answer: Promise<void> } | undefined;
  return () => {
    if (last && performance.now() - last.at <= ms) return last.answer;
    const attempt = { at: performance.now(), answer: check() };
    last = attempt;
    attempt.answer.catch(() => {
      if (last === attempt) last = undefined;
    });
    return attempt.answer;
  };
}

/**
 * Returns the reason of a failed check for the response of a probe. Host names, user names and the stack are left out.
 */
function describeCheckError(error: unknown): string {
  const { code, message, driverError } = error as { code?: string; message?: string; driverError?: { code?: string } };
  if ((code ?? driverError?.code) === '53100' || code === 'full') return 'the disk is full';
  return /^no answer within|pending|not connected/.test(message ?? '') ? message! : (code ?? 'no connection');
}

function roundMilliseconds(ms: number): number {
  return Math.round(ms * 100) / 100;
}
