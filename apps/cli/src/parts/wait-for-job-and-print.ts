import type { Job, Muster } from '@muster/sdk';
import { exitCodes, explainError } from '../frame/failure';
import { toSafeBlock, toSafeLine } from '../output/plain';
import type { Terminal } from '../output/terminal';
import { formatDuration, getStatusColor, formatUsd } from '../output/words';
import { onInterrupt } from './interrupts';
import { printLogLine } from './log-lines';

interface Attendance {
  muster: Muster;
  terminal: Terminal;
  /** Whether the log is printed while the run is in progress. */
  withLog?: boolean;
  /** Whether the first Ctrl-C cancels the run. Otherwise Ctrl-C only stops waiting. */
  mayCancel?: boolean;
}

/** Time to wait for the last lines of the log after the run has ended. */
const lastLinesMs = 5000;

/**
 * Waits until a run ends and returns the exit code. With `mayCancel`, the first Ctrl-C cancels the run and continues to
 * wait until the machine confirms it. The second Ctrl-C stops waiting.
 */
export async function waitForJobAndPrint(
  id: string,
  { muster, terminal, withLog, mayCancel }: Attendance,
): Promise<number> {
  const leave = new AbortController();
  const stopListening = onInterrupt((count) => {
    if (count > 1 || !mayCancel) return leave.abort();
    terminal.printMessage('\nCancelling the run. Press Ctrl-C again to exit without waiting for it.');
    muster.jobs
      .cancel(id, 'interrupted at the command line')
      .catch((error: unknown) =>
        terminal.printMessage(`The run could not be cancelled: ${toSafeLine(explainError(error).message)}`),
      );
  });
  const log = withLog ? followLog(id, muster, terminal, leave.signal) : Promise.resolve();
  try {
    const job = await muster.jobs.wait(id, {
      signal: leave.signal,
      onChange: (now) => terminal.showProgress(...describeProgress(now)),
    });
    await Promise.race([log, new Promise((resolve) => setTimeout(resolve, lastLinesMs).unref())]);
    terminal.clearProgress();
    printJobEnd(terminal, job);
    return job.status === 'completed' ? exitCodes.ok : exitCodes.failed;
  } catch (error) {
    if (!leave.signal.aborted) throw error;
    terminal.clearProgress();
    terminal.printMessage(`Stopped waiting. To wait again, run muster jobs wait ${id}`);
    return exitCodes.failed;
  } finally {
    stopListening();
    leave.abort();
  }
}

/**
 * Prints the log of a run while the run continues. An error is printed and not thrown, so that the command still waits
 * for the run.
 */
async function followLog(id: string, muster: Muster, terminal: Terminal, signal: AbortSignal): Promise<void> {
  try {
    for await (const line of muster.jobs.logs(id, { follow: true, signal }))
      printLogLine(terminal, line, { aside: true });
  } catch (error) {
    if (!signal.aborted) terminal.printMessage(`The log is not available: ${toSafeLine(explainError(error).message)}`);
  }
}

function describeProgress(job: Job): [word: string, more: string] {
  const { status, progress, waiting, cancelling, startedAt, queuedAt } = job;
  if (cancelling) return ['cancelling: waiting for the machine to stop the run', ''];
  if (status === 'queued')
    return [`queued${waiting ? `: ${waiting.reason.replaceAll('_', ' ')}` : ''}`, formatElapsedSince(queuedAt)];
  const steps = progress.stepsTotal ? `, ${progress.stepsPassed} of ${progress.stepsTotal} steps` : '';
  return [status, `${formatElapsedSince(startedAt)}${steps}${progress.currentStep ? `: ${progress.currentStep}` : ''}`];
}

function formatElapsedSince(time: string | null): string {
  return time ? ` ${formatDuration(Date.now() - Date.parse(time))}` : '';
}

function printJobEnd(terminal: Terminal, job: Job): void {
  if (terminal.json) return terminal.printResult(job, '');
  const { id, status, error, errorCode, durationMs, totalCostUsd, progress } = job;
  const color = getStatusColor(status) ?? 'yellow';
  const steps = progress.stepsTotal ? `, ${progress.stepsPassed} of ${progress.stepsTotal} steps passed` : '';
  const outcome = terminal.colorText(color, status, process.stderr);
  const cost = formatUsd(totalCostUsd);
  terminal.printMessage(`${outcome} after ${formatDuration(durationMs)}${steps}, ${cost} (run ${id})`);
  if (error && status !== 'completed')
    terminal.printMessage(`${errorCode ? `${errorCode}: ` : ''}${toSafeBlock(error)}`);
}
