import { readTestStack } from '@muster/testing';
import { spawnSync } from 'node:child_process';

const { pillow } = readTestStack();
const itReads = pillow ? it : it.skip;

/** Runs the Python package's own tests, with the Python and the Pillow of this machine. */
describe('The package muster_imaging', () => {
  itReads(
    'the package muster_imaging passes its own tests (requires Pillow)',
    () => {
      const { IMAGING_PYTHONPATH = '', IMAGING_LIBRARY_PATH = '' } = pillow!;
      const { status, stdout, stderr } = spawnSync(
        'python3',
        ['-W', 'ignore', '-m', 'unittest', 'discover', '-t', '.'],
        {
          cwd: __dirname,
          env: {
            PATH: process.env['PATH'],
            PYTHONPATH: [IMAGING_PYTHONPATH, __dirname].filter(Boolean).join(':'),
            LD_LIBRARY_PATH: IMAGING_LIBRARY_PATH,
            PYTHONDONTWRITEBYTECODE: '1',
          },
          encoding: 'utf8',
          maxBuffer: 64 * 1024 * 1024,
        },
      );
      const [, count = '0'] = /^Ran (\d+) tests/m.exec(stderr) ?? [];
      process.stdout.write(`${count} tests in Python\n${stdout}`);
      const faults = stderr.split('\n').filter((line) => /^(FAIL|ERROR|\w*(Error|Exception)\b)/.test(line));
      expect([faults, status]).toEqual([[], 0]);
      expect(Number(count)).toBeGreaterThan(40);
    },
    600_000,
  );
});
