import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSafeguards } from './parse-safeguards';

describe('the page of safeguards', () => {
  const markdown = readFileSync(join(process.cwd(), 'k8s/safeguards.md'), 'utf8');

  it('the page of safeguards has for each item of 45 CFR 164.312 a text on the product, one on the operator, and tests', () => {
    const { title, introduction, safeguards } = parseSafeguards(markdown);
    expect([title, introduction.length]).toEqual(['Safeguards', 2]);
    expect(safeguards.map(({ title }) => /^164\.312(\S+) [A-Z]/.exec(title)?.[1])).toEqual([
      ...['(a)(1)', '(a)(2)(i)', '(a)(2)(ii)', '(a)(2)(iii)', '(a)(2)(iv)', '(b)', '(c)(1)', '(c)(2)', '(d)', '(e)(1)'],
      ...['(e)(2)(i)', '(e)(2)(ii)'],
    ]);
    for (const { product, operator, tests } of safeguards) {
      expect(product).toMatch(/^[A-Z`].{80,}\.$/);
      expect(operator).toMatch(/^[A-Z`].{40,}\.$/);
      expect(tests.length).toBeGreaterThan(1);
      for (const { file, name } of tests)
        expect([file, name]).toEqual([expect.stringMatching(/\.spec\.ts$/), expect.not.stringMatching(/%|\$/)]);
      // The page would show these Markdown marks as characters, because it supports only the marks for code.
      expect(product + operator).not.toMatch(/\*|\]\(|\n/);
      expect((product + operator).split('`').length % 2).toBe(1);
    }
  });

  it('parseSafeguards joins wrapped lines and reads the tests of each section', () => {
    const buildSafeguardSection = (number: number) =>
      `## 1(${number}) Name\n\n- **Muster:** First\n  line.\n- **Operator:** Second.\n- **Tests:**\n  - \`a.spec.ts\`: \`one\n    name\`\n  - \`b.spec.ts\`: \`two %s and \${three}\`\n`;
    expect(
      parseSafeguards(`# Title\n\nA\nparagraph.\n\n${buildSafeguardSection(1)}\n${buildSafeguardSection(2)}`),
    ).toEqual({
      title: 'Title',
      introduction: ['A paragraph.'],
      safeguards: [1, 2].map((number) => ({
        title: `1(${number}) Name`,
        product: 'First line.',
        operator: 'Second.',
        tests: [
          { file: 'a.spec.ts', name: 'one name' },
          { file: 'b.spec.ts', name: 'two … and …' },
        ],
      })),
    });
  });

  it.each([
    ['a title', '# Safeguards', '', /must begin with a title/],
    ['the part of the operator', '- **Operator:**', '- **Others:**', /164\.312\(a\)\(1\) .* must name Muster/],
    ['the tests', /- \*\*Tests:\*\*\n( {2}- .*\n)+/, '', /must name Muster, Operator and Tests/],
    ['the name of a test', /\.spec\.ts`: `[^`]+`/, '.spec.ts`', /a test must have the form/],
  ] as const)('parseSafeguards throws if the page lacks %s', (_, part, replacement, message) => {
    expect(() => parseSafeguards(markdown.replace(part, replacement))).toThrow(message);
  });
});
