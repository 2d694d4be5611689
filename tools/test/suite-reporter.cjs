// Says of each suite (a project's folder) what ran, which files took longest and how long each kind took, and closes with the
// one line that sums it up. It names the files that took longer than their kind may. A run in which a file never ends, or
// that does not end after its last file, is ended with the names of what hangs.
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');
const { limits, exempt } = require('./time-limits.cjs');

const kinds = Object.keys(limits);
/** Longer than any file takes on the slowest machine, whose own tests each have a timeout. */
const hangsAfterMs = 15 * 60_000;
const exitTakesAtMostMs = 60_000;

module.exports = class SuiteReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
    this.tooSlow = [];
    this.running = new Map();
  }

  onRunStart() {
    // Neither timer keeps the process.
    this.watch = setInterval(() => this.endIfItHangs(), 10_000).unref();
  }

  onTestFileStart({ path }) {
    this.running.set(relative(this.rootDir, path), Date.now());
  }

  onTestFileResult({ path }) {
    this.running.delete(relative(this.rootDir, path));
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
    }));
    const measured = files.filter(({ kind }) => kind);
    const slowness = Math.max(1, median(measured.map((file) => file.slowness)));
    this.tooSlow = measured.filter(({ file, kind, seconds }) => seconds > (exempt[file] ?? limits[kind]) * slowness);
    // A file that could not even be loaded has failed, though no test of it counted.
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const skipped = numPendingTests ? `, ${numPendingTests} skipped` : '';
    const parts = [countsOfSuites(files), timesOfKinds(measured), slowest(measured), this.sentencesOfTooSlow(slowness)];
    process.stdout.write(
      `\n${parts.filter(Boolean).join('\n\n')}\n\n${numPassedTests} passed, ${failed} failed${skipped}\n`,
    );
    const file = process.env.MUSTER_TEST_RESULT;
    if (file)
      writeFileSync(file, JSON.stringify({ passed: numPassedTests, failed, failedFiles: failedOf(testResults) }));
    clearInterval(this.watch);
    setTimeout(() => void endRun('the tests ended and the run did not'), exitTakesAtMostMs).unref();
  }

  sentencesOfTooSlow(slowness) {
    const machine = slowness > 1 ? ` (times ${slowness.toFixed(1)}, as this machine is slow now)` : '';
    return this.tooSlow
      .map(({ file, kind, seconds }) => {
        const limit = exempt[file] ?? limits[kind];
        return `${file} took ${seconds.toFixed(1)} s; a ${kind} file may take ${limit} s${machine}.`;
      })
      .join('\n');
  }
};

async function endRun(reason) {
  console.error(`\nmuster: ${reason}`);
  await require('./global-teardown.cjs')();
  process.exit(1);
}

function failedOf(testResults) {
  return testResults
    .filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError)
    .map(({ testFilePath: path, numPassingTests: passed }) => ({ path, passed }));
}

function countsOfSuites(files) {
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

function timesOfKinds(files) {
  return kinds
    .map((kind) => {
      const own = files.filter((file) => file.kind === kind);
      const total = own.reduce((sum, { seconds }) => sum + seconds, 0);
      return `${kind.padEnd(10)} ${String(own.length).padStart(3)} files ${total.toFixed(0).padStart(5)} s`;
    })
    .join('\n');
}

function slowest(files) {
  const ten = [...files].sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  if (ten.length === 0) return '';
  return [
    'slowest files:',
    ...ten.map(({ file, kind, seconds }) => `${seconds.toFixed(1).padStart(7)} s ${kind.padEnd(9)} ${file}`),
  ].join('\n');
}

function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 1;
}
