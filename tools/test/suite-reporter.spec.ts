import { createRequire } from 'node:module';
import { join } from 'node:path';

interface Reporter {
  onRunComplete(contexts: unknown, results: object): void;
  getLastError(): Error | undefined;
}
const SuiteReporter = createRequire(__filename)('./suite-reporter.cjs') as new (options: object) => Reporter;

const rootDir = join(__dirname, '../..');

describe('the suite reporter', () => {
  let printed: string;

  beforeEach(() => {
    printed = '';
    // The reporter ends a process that outlives its run.
    jest.useFakeTimers();
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => ((printed += String(text)), true));
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  interface Measured {
    file?: string;
    kind?: string;
    processorSeconds?: number;
    slowness?: number;
    leftBehind?: string[];
  }
  function reportFiles(...files: Measured[]): Error | undefined {
    const reporter = new SuiteReporter({ rootDir });
    const testResults = files.map(({ file = 'libs/a/src/a.spec.ts', leftBehind = [], ...measured }) => ({
      testFilePath: join(rootDir, file),
      numPassingTests: 1,
      numFailingTests: 0,
      numPendingTests: 0,
      leftBehind,
      measured: { kind: 'pure', elapsedSeconds: 1, processorSeconds: 0.1, slowness: 1, ...measured },
    }));
    const counts = {
      numPassedTests: files.length,
      numFailedTests: 0,
      numPendingTests: 0,
      numRuntimeErrorTestSuites: 0,
    };
    reporter.onRunComplete([], { testResults, ...counts });
    return reporter.getLastError();
  }

  it('the suite reporter does not fail a run whose files are within their limits and leave nothing behind', () => {
    expect(reportFiles({}, { kind: 'process', processorSeconds: 19 })).toBeUndefined();
    expect(printed).toContain('2 passed, 0 failed\n');
  });

  it('the suite reporter fails a run with a file over the limit of its kind, and names the file and the limit', () => {
    expect(reportFiles({ file: 'libs/b/src/b.spec.ts', kind: 'database', processorSeconds: 8.6 })?.message).toContain(
      '1 test',
    );
    expect(printed).toMatch(/libs\/b\/src\/b\.spec\.ts used 8\.6 s of processor time .* a database file is 5 s/);
  });

  it('the suite reporter raises the limits in proportion on a slow machine', () => {
    expect(reportFiles({ kind: 'database', processorSeconds: 16, slowness: 2 })).toBeUndefined();
  });

  it('the suite reporter does not limit the processor time of a long file', () => {
    expect(reportFiles({ file: 'libs/b/src/b.long.spec.ts', kind: 'database', processorSeconds: 600 })).toBeUndefined();
  });

  it('the suite reporter fails a run with a file that leaves something behind, and names the file and the leftover', () => {
    expect(reportFiles({ leftBehind: ['timers: 1'] })).toBeInstanceOf(Error);
    expect(printed).toContain('libs/a/src/a.spec.ts left behind: timers: 1.');
  });
});
