import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const cache = new Map<string, string>();

/** Returns a prompt of this folder with its {{names}} replaced by values. Throws if a value is missing or not used. */
export function renderPrompt(name: string, values: Record<string, string> = {}): string {
  const template = cache.get(name) ?? readFileSync(join(__dirname, `${name}.md`), 'utf8').trim();
  cache.set(name, template);
  const used = new Set<string>();
  const text = template.replace(/\{\{(\w+)\}\}/g, (_, each: string) => {
    const value = values[each];
    if (value === undefined) throw new Error(`the prompt ${name} needs ${each}`);
    used.add(each);
    return value;
  });
  const unused = Object.keys(values).filter((each) => !used.has(each));
  if (unused.length) throw new Error(`the prompt ${name} has no placeholder for ${unused.join(', ')}`);
  return text;
}
