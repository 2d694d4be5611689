import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findBrowser } from './find-browser';

describe('The browser of a machine', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'muster-browsers-'));
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const writeProgram = (path: string, mode = 0o700) => {
    const whole = join(home, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, '#!/bin/sh\n', { mode });
    return whole;
  };

  it('if CHROMIUM is set, the worker uses only the browser that CHROMIUM names, by path or by name', () => {
    const [named, other] = [writeProgram('bin/my-browser'), writeProgram('bin/chromium')];
    const PATH = `/nowhere:${dirname(named)}`;
    expect(findBrowser({ PATH, CHROMIUM: named })).toBe(named);
    expect(findBrowser({ PATH, CHROMIUM: 'my-browser' })).toBe(named);
    expect(findBrowser({ PATH, CHROMIUM: join(home, 'gone') })).toBeNull();
    expect(findBrowser({ PATH, CHROMIUM: home })).toBeNull();
    expect(findBrowser({ PATH })).toBe(other);
  });

  it('without CHROMIUM, the worker uses a browser on PATH under any known name, preferably Chromium', () => {
    writeProgram('first/chromium', 0o600);
    const chrome = writeProgram('first/google-chrome-stable');
    const PATH = `${join(home, 'first')}:${join(home, 'second')}`;
    expect(findBrowser({ PATH })).toBe(chrome);
    const chromium = writeProgram('second/chromium-browser');
    expect(findBrowser({ PATH })).toBe(chromium);
  });

  it('without a browser on PATH, the worker uses the newest browser that a tool has downloaded for scripts', () => {
    const cache = '.cache/ms-playwright';
    for (const number of [999, 1187, 1091]) writeProgram(`${cache}/chromium-${number}/chrome-linux/chrome`);
    writeProgram(`${cache}/firefox-2000/firefox/firefox`);
    const newest = join(home, cache, 'chromium-1187/chrome-linux/chrome');
    expect(findBrowser({ PATH: '/nowhere', HOME: home }, [])).toBe(newest);
    expect(findBrowser({ PATH: '/nowhere' }, [])).toBeNull();
  });
});
