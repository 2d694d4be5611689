export interface Safeguard {
  /** Section of the rule with its name, such as `164.312(b) Audit controls`. */
  title: string;
  /** Measures of the product that meet the rule. */
  product: string;
  /** Measures that the operator must take to meet the rule. */
  operator: string;
  /** Tests that show what the product does: path of the file, and name of the test. */
  tests: { file: string; name: string }[];
}

interface SafeguardsText {
  title: string;
  introduction: string[];
  safeguards: Safeguard[];
}

/**
 * Reads the text of `k8s/safeguards.md`. The page has a fixed form, and only `code` is marked up in it. Throws if a part
 * is missing or anything else is found, so that the console never shows half of a section.
 */
export function parseSafeguards(markdown: string): SafeguardsText {
  const [start = '', ...sections] = markdown.split(/^## /m);
  const [title = '', ...introduction] = start.trim().split(/\n\n+/).map(joinLines);
  if (!title.startsWith('# ')) throw new Error('the page must begin with a title');
  return { title: title.slice(2), introduction, safeguards: sections.map(parseSection) };
}

const sectionForm =
  /^(?<title>[^\n]+)\n\n- \*\*Muster:\*\* (?<product>.+?)\n- \*\*Operator:\*\* (?<operator>.+?)\n- \*\*Tests:\*\*\n(?<tests>.+)$/s;
/** Pattern of the placeholders in a test's name, which each case of the test replaces with its values. */
const placeholder = /%[a-z]|\$\{\w+\}/g;
const testForm = /^- `(?<file>[^`]+)`: `(?<name>[^`]+)`$/;

function parseSection(text: string): Safeguard {
  const found = sectionForm.exec(text.trim())?.groups;
  if (!found)
    throw new Error(`the section ${text.split('\n', 1)[0]} must name Muster, Operator and Tests in this order`);
  const { title, product, operator, tests } = found as Record<string, string>;
  return {
    title: title!,
    product: joinLines(product!),
    operator: joinLines(operator!),
    tests: tests!.split(/\n(?= *- )/).map((line) => {
      const test = testForm.exec(joinLines(line))?.groups;
      if (!test) throw new Error(`a test must have the form - \`file\`: \`name\`, unlike ${line.trim()}`);
      return { file: test['file']!, name: test['name']!.replaceAll(placeholder, '…') };
    }),
  };
}

function joinLines(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ');
}
