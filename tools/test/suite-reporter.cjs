// Says of each suite (a project's folder) what ran, and closes with the one line that says it all. Whoever started the
// run may have the files that failed.
const { writeFileSync } = require('node:fs');
const { relative } = require('node:path');

module.exports = class SuiteReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(
    _contexts,
    { testResults, numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites },
  ) {
    const suites = new Map();
    for (const { testFilePath, numPassingTests, numFailingTests, numPendingTests: pending } of testResults) {
      const suite = relative(this.rootDir, testFilePath).split('/').slice(0, 2).join('/');
      const counts = suites.get(suite) ?? { files: 0, passed: 0, failed: 0, skipped: 0 };
      counts.files += 1;
      counts.passed += numPassingTests;
      counts.failed += numFailingTests;
      counts.skipped += pending;
      suites.set(suite, counts);
    }
    const lines = [...suites]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([suite, { files, passed, failed, skipped }]) =>
          `${suite.padEnd(24)} ${String(files).padStart(3)} files ${String(passed).padStart(5)} passed ${failed} failed ${skipped} skipped`,
      );
    const { MUSTER_TEST_FAILED: list } = process.env;
    const faulty = testResults.filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError);
    if (list) writeFileSync(list, faulty.map(({ testFilePath }) => relative(this.rootDir, testFilePath)).join('\n'));
    // A file that could not even be loaded has failed, though no test of it counted.
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const skipped = numPendingTests ? `, ${numPendingTests} skipped` : '';
    console.log(`\n${lines.join('\n')}\n\n${numPassedTests} passed, ${failed} failed${skipped}`);
  }
};
