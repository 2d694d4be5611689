#!/usr/bin/env node
// `node tools/test/other-dates.mjs` runs the in-process suites under five other dates, so that no test depends on
// today. `node tools/test/other-dates.mjs leap-day` runs one of them. `npm run test:long` ends with all five.
// libfaketime moves the clock of the tests, of Postgres and of Redis by the same offset; the monotonic clock stays
// real.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepareStart, root } from '../start/prepare.mjs';
import { datedSuites, findMissingFolders } from './dated-suites.mjs';

/** The next time after `now` of each date, in UTC. The last three change while the suites run. */
export function listOtherDates(now) {
  const years = Array.from({ length: 9 }, (_, n) => now.getUTCFullYear() + n);
  const findNextYear = (ofYear) => years.map(ofYear).find((date) => date !== null && date > now);
  return {
    'friday-evening': findNextFriday(now),
    'leap-day': findNextYear((year) => (isLeapYear(year) ? toUtcTime(year, 2, 29, 12, 0) : null)),
    'end-of-year': findNextYear((year) => toUtcTime(year, 12, 31, 23, 57)),
    // Chicago changes at 2:00 local time, which is 8:00 UTC in March and 7:00 UTC in November.
    'chicago-spring': findNextYear((year) => toUtcTime(year, 3, findSunday(year, 3, 2), 7, 57)),
    'chicago-autumn': findNextYear((year) => toUtcTime(year, 11, findSunday(year, 11, 1), 6, 57)),
  };
}

function toUtcTime(year, month, day, hour, minute) {
  return new Date(Date.UTC(year, month - 1, day, hour, minute));
}

function isLeapYear(year) {
  return toUtcTime(year, 2, 29, 0, 0).getUTCMonth() === 1;
}

/** Returns the day of the month of the first, second, … Sunday. */
function findSunday(year, month, nth) {
  const weekday = toUtcTime(year, month, 1, 0, 0).getUTCDay();
  return 1 + ((7 - weekday) % 7) + 7 * (nth - 1);
}

/** Returns the next Friday at 18:30 in Chicago, when it is already Saturday in UTC. */
function findNextFriday(now) {
  const saturday = new Date(now.getTime());
  saturday.setUTCHours(0, 30, 0, 0);
  do saturday.setUTCDate(saturday.getUTCDate() + 1);
  while (saturday.getUTCDay() !== 6);
  return saturday;
}

async function runUnderDate(name, date, library) {
  const offset = Math.round((date.getTime() - Date.now()) / 1000);
  console.log(`\n== ${name}: ${date.toISOString()} (the clock is ${offset} s ahead)`);
  const clock = {
    LD_PRELOAD: library,
    FAKETIME: `+${offset}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  };
  const child = spawn(process.execPath, [join(root, 'tools/test/test.mjs'), ...datedSuites], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...clock, MUSTER_TEST_LONG: '', MUSTER_TEST_LONG_FILES: '' },
  });
  return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0)));
}

export async function runSuitesUnderOtherDates(names = []) {
  await prepareStart((line) => console.log(`  ${line}`));
  const dates = listOtherDates(new Date());
  const unknown = names.filter((name) => !(name in dates));
  if (unknown.length > 0) {
    console.error(`muster: unknown date ${unknown.join(', ')}; choose from ${Object.keys(dates).join(', ')}.`);
    return 1;
  }
  const missing = findMissingFolders(root);
  if (missing.length > 0) {
    console.error(`muster: tools/test/dated-suites.mjs lists folders that do not exist: ${missing.join(', ')}.`);
    return 1;
  }
  const require = createRequire(import.meta.url);
  const { fetchFaketime } = require(join(root, 'dist/tools/dev-stack/src/faketime.js'));
  const library = await fetchFaketime({ env: process.env, onProgress: (line) => console.log(`  ${line}`) });
  if (Array.isArray(library)) {
    console.error(`muster: libfaketime is not available: ${library.join('; ')}.`);
    return 1;
  }
  const failed = [];
  try {
    for (const name of names.length > 0 ? names : Object.keys(dates))
      if (!(await runUnderDate(name, listOtherDates(new Date())[name], library))) failed.push(name);
  } finally {
    rmSync(dirname(library), { recursive: true });
  }
  console.log(failed.length > 0 ? `\nfailed under: ${failed.join(', ')}` : '\nall dates passed');
  return failed.length > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  process.exitCode = await runSuitesUnderOtherDates(process.argv.slice(2));
