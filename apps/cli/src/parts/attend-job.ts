import type { Job, Muster } from '@muster/sdk';
import { exitCodes, explain } from '../frame/failure';
import { inBlock, inLine } from '../output/plain';
import type { Terminal } from '../output/terminal';
import { duration, statusColor, usd } from '../output/words';
import { onInterrupt } from './interrupts';
import { printLine } from './log-lines';

interface Attendance {
  muster: Muster;
  terminal: Terminal;
  /** What it says as well, as it says it. */
  withLog?: boolean;
  /** Ctrl-C cancels the run; otherwise it only stops waiting. */
  mayCancel?: boolean;
}

/** How long the log's last lines may take after the end. */
const lastLinesMs = 5000;

/**
 * Stays with a run until its end, and answers the exit code. The first Ctrl-C cancels it and goes on waiting for the
 * machine to say so; the second leaves.
 */
export async function attendJob(id: string, { muster, terminal, withLog, mayCancel }: Attendance): Promise<number> {
  const leave = new AbortController();
  const stopListening = onInterrupt((count) => {
    if (count > 1 || !mayCancel) return leave.abort();
    terminal.say('\nCancelling the run; Ctrl-C again leaves without waiting for it.');
    muster.jobs
      .cancel(id, 'interrupted at the command line')
      .catch((error: unknown) => terminal.say(`It could not be cancelled: ${inLine(explain(error).message)}`));
  });
  const log = withLog ? followLog(id, muster, terminal, leave.signal) : Promise.resolve();
  try {
    const job = await muster.jobs.wait(id, {
      signal: leave.signal,
      onChange: (now) => terminal.progress(...progressOf(now)),
    });
    await Promise.race([log, new Promise((resolve) => setTimeout(resolve, lastLinesMs).unref())]);
    terminal.close();
    sayEnd(terminal, job);
    return job.status === 'completed' ? exitCodes.ok : exitCodes.failed;
  } catch (error) {
    if (!leave.signal.aborted) throw error;
    terminal.close();
    terminal.say(`Left. The run is ${id}: muster jobs wait ${id}`);
    return exitCodes.failed;
  } finally {
    stopListening();
    leave.abort();
  }
}

/** A log that cannot be followed does not keep anybody from waiting. */
async function followLog(id: string, muster: Muster, terminal: Terminal, signal: AbortSignal): Promise<void> {
  try {
    for await (const line of muster.jobs.logs(id, { follow: true, signal })) printLine(terminal, line, { aside: true });
  } catch (error) {
    if (!signal.aborted) terminal.say(`The log cannot be followed: ${inLine(explain(error).message)}`);
  }
}

function progressOf(job: Job): [word: string, more: string] {
  const { status, progress, waiting, cancelling, startedAt, queuedAt } = job;
  if (cancelling) return ['cancelling: the machine is asked to stop it', ''];
  if (status === 'queued')
    return [`queued${waiting ? `: ${waiting.reason.replaceAll('_', ' ')}` : ''}`, since(queuedAt)];
  const steps = progress.stepsTotal ? `, ${progress.stepsPassed} of ${progress.stepsTotal} steps` : '';
  return [status, `${since(startedAt)}${steps}${progress.currentStep ? `: ${progress.currentStep}` : ''}`];
}

function since(time: string | null): string {
  return time ? ` ${duration(Date.now() - Date.parse(time))}` : '';
}

function sayEnd(terminal: Terminal, job: Job): void {
  if (terminal.json) return terminal.show(job, '');
  const { id, status, error, errorCode, durationMs, totalCostUsd, progress } = job;
  const color = statusColor(status) ?? 'yellow';
  const steps = progress.stepsTotal ? `, ${progress.stepsPassed} of ${progress.stepsTotal} steps passed` : '';
  terminal.say(
    `${terminal.paint(color, status, process.stderr)} after ${duration(durationMs)}${steps}, ${usd(totalCostUsd)} (run ${id})`,
  );
  if (error && status !== 'completed') terminal.say(`${errorCode ? `${errorCode}: ` : ''}${inBlock(error)}`);
}
