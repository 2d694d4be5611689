// Prints the counts of each suite (a project's folder), the ten slowest files, the time of each kind of file, and one
// line for the whole run. It fails the run if a file uses more processor time than its kind may, or leaves something
// behind in the process that it shares with other files. A run in which a file never ends is ended with the names of
// the files that hang.
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { limits, computeAllowedSeconds, exceptions } = require('./time-limits.cjs');

const kinds = Object.keys(limits);
/**
 * Milliseconds after which a file counts as hanging: longer than any file takes on the slowest machine, because each
 * test has a timeout. Only tools/test/soak.mjs sets another time.
 */
const hangsAfterMs = Number(process.env.MUSTER_TEST_HANGS_AFTER_MS ?? 15 * 60_000);
const exitTakesAtMostMs = 60_000;

module.exports = class SuiteReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
    this.running = new Map();
    this.faults = [];
  }

  onRunStart() {
    // The timers do not keep the process running.
    this.watch = setInterval(() => this.endIfItHangs(), 10_000).unref();
  }

  onTestFileStart({ path }) {
    this.running.set(relative(this.rootDir, path), Date.now());
  }

  onTestFileResult({ path }) {
    this.running.delete(relative(this.rootDir, path));
  }

  /** Jest fails the run if this returns an error. */
  getLastError() {
    if (this.faults.length > 0)
      return new Error(`${this.faults.length} test files break the rules of tools/test/README.md`);
  }

  endIfItHangs() {
    const since = Date.now() - hangsAfterMs;
    const hanging = [...this.running].filter(([, startedAt]) => startedAt < since).map(([file]) => file);
    if (hanging.length > 0) void endRun(`did not end within ${hangsAfterMs / 60_000} minutes: ${hanging.join(', ')}`);
  }

  onRunComplete(
    _contexts,
    { testResults, numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites },
  ) {
    const files = testResults.map((result) => ({
      ...result.measured,
      file: relative(this.rootDir, result.testFilePath),
      passed: result.numPassingTests,
      failed: result.numFailingTests,
      skipped: result.numPendingTests,
      leftBehind: result.leftBehind ?? [],
    }));
    const measured = files.filter(({ kind }) => kind);
    this.faults = [...listFilesOverLimit(measured), ...listFilesWithLeftovers(files)];
    // A file that could not be loaded counts as failed, although none of its tests was counted.
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const skipped = numPendingTests ? `, ${numPendingTests} skipped` : '';
    const parts = [countSuites(files), sumTimesByKind(measured), listSlowest(measured), this.faults.join('\n')];
    process.stdout.write(
      `\n${parts.filter(Boolean).join('\n\n')}\n\n${numPassedTests} passed, ${failed} failed${skipped}\n`,
    );
    const { MUSTER_TEST_TIMES: times } = process.env;
    if (times) writeFileSync(times, `${JSON.stringify(files, null, 2)}\n`);
    clearInterval(this.watch);
    setTimeout(() => void endRun('all tests ended, but the run did not'), exitTakesAtMostMs).unref();
  }
};

/**
 * Returns the files over their limit. Long files have none. Processor time is compared in proportion to a fixed piece
 * of work, so that a slow or busy machine fails nothing.
 */
function listFilesOverLimit(files) {
  const slowness = Math.max(1, computeMedian(files.map((file) => file.slowness)));
  return files
    .filter(({ file }) => !file.endsWith('.long.spec.ts'))
    .map((each) => ({ ...each, limit: exceptions[each.file]?.seconds ?? limits[each.kind] }))
    .filter(({ processorSeconds, limit }) => processorSeconds > computeAllowedSeconds(limit, slowness))
    .map(
      ({ file, kind, limit, processorSeconds }) =>
        `${file} used ${processorSeconds.toFixed(1)} s of processor time on a machine that is ${slowness.toFixed(1)} times slower than the reference; the limit of a ${kind} file is ${limit} s (tools/test/time-limits.cjs).`,
    );
}

function listFilesWithLeftovers(files) {
  return files
    .filter(({ leftBehind }) => leftBehind.length > 0)
    .map(({ file, leftBehind }) => `${file} left behind: ${leftBehind.join('; ')}.`);
}

async function endRun(reason) {
  console.error(`\nmuster: ${reason}`);
  await require('./global-teardown.cjs')();
  process.exit(1);
}

function countSuites(files) {
  const suites = new Map();
  for (const { file, passed, failed, skipped } of files) {
    const suite = file.split('/').slice(0, 2).join('/');
    const counts = suites.get(suite) ?? { files: 0, passed: 0, failed: 0, skipped: 0 };
    suites.set(suite, {
      files: counts.files + 1,
      passed: counts.passed + passed,
      failed: counts.failed + failed,
      skipped: counts.skipped + skipped,
    });
  }
  return [...suites]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([suite, { files: count, passed, failed, skipped }]) =>
        `${suite.padEnd(24)} ${String(count).padStart(3)} files ${String(passed).padStart(5)} passed ${failed} failed ${skipped} skipped`,
    )
    .join('\n');
}

function sumTimesByKind(files) {
  return kinds
    .map((kind) => {
      const own = files.filter((file) => file.kind === kind);
      return `${kind.padEnd(10)} ${String(own.length).padStart(3)} files ${formatTotalSeconds(own, 'elapsedSeconds')} s, processor time ${formatTotalSeconds(own, 'processorSeconds')} s`;
    })
    .join('\n');
}

function formatTotalSeconds(files, name) {
  return files
    .reduce((sum, file) => sum + file[name], 0)
    .toFixed(0)
    .padStart(5);
}

function listSlowest(files) {
  const ten = [...files].sort((a, b) => b.elapsedSeconds - a.elapsedSeconds).slice(0, 10);
  if (ten.length === 0) return '';
  return [
    'slowest files:',
    ...ten.map(
      ({ file, kind, elapsedSeconds, processorSeconds }) =>
        `${elapsedSeconds.toFixed(1).padStart(7)} s (${processorSeconds.toFixed(1)} s processor time) ${kind.padEnd(9)} ${file}`,
    ),
  ].join('\n');
}

function computeMedian(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 1;
}
