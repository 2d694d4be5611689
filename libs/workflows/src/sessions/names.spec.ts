import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const names = readFileSync(join(__dirname, 'program/names.py'), 'utf8');
const imports = 'import contextlib, json, os, re, sys, urllib.parse\n';

/** Returns the texts as the program of a session shows them. */
function hideTexts(secrets: Record<string, string>, texts: string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'muster-names-'));
  try {
    const settings = { inputs: {}, secretNames: Object.keys(secrets), allowedOrigins: [] };
    writeFileSync(join(folder, 'open.json'), JSON.stringify(settings));
    const program = `${imports}${names}\nprint(json.dumps([hide(text) for text in json.loads(sys.argv[1])]))`;
    const options = { cwd: folder, env: { ...process.env, ...secrets }, encoding: 'utf8' } as const;
    return JSON.parse(execFileSync('python3', ['-c', program, JSON.stringify(texts)], options)) as string[];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the text that a session shows', () => {
  it('a vault key’s value of one or two letters is hidden where it is the whole text, and a longer one everywhere', () => {
    const secrets = { ONE: '7', TWO: 'ab', THREE: 'xyz', LONG: 'correct horse' };
    const texts = ['7', ' ab ', 'a cab', 'xyz', 'wxyz1', 'say CorrectHorse!', 'nothing', ''];
    const hidden = '[secret]';
    expect(hideTexts(secrets, texts)).toEqual([
      ...[hidden, hidden, 'a cab', hidden, `w${hidden}1`, `say ${hidden}!`, 'nothing', ''],
    ]);
  });
});
