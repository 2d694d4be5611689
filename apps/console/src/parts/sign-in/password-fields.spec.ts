import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

describe('fields for passwords', () => {
  const source = join(process.cwd(), 'apps/console/src');
  const pages = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.tsx'))
    .map((file) => ({ file, text: readFileSync(join(source, file), 'utf8') }));

  it('every field for a password hides it and names its kind to password managers', () => {
    const fields = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/<TextField\b[^>]*\bname="\w*password"[^>]*>/gi)].map(([field]) => `${file}: ${field}`),
    );
    expect(fields.length).toBeGreaterThan(4);
    for (const field of fields) {
      expect(field).toContain('type="password"');
      expect(field).toMatch(/autoComplete="(current|new)-password"/);
    }
  });

  it('no page prevents pasting into a field', () => {
    const handling = pages.filter(({ text }) => /\bonPaste\b|\bonBeforeInput\b/.test(text));
    expect(handling.map(({ file }) => file)).toEqual([]);
    // The form that reports an issue takes screenshots from the clipboard, and leaves pasted text alone.
    const listening = pages.filter(({ text }) => /addEventListener\(\s*'(paste|beforeinput)'/.test(text));
    expect(listening.map(({ file }) => file)).toEqual(['frame/report/screenshot.tsx']);
  });
});
