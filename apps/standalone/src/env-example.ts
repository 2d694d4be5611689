import { type Variable, variablesOf } from '@muster/platform';

/** Content of `.env.example`: every environment variable of every app, once, with its description. */
export function envExampleOf(configs: readonly (new () => object)[]): string {
  const seen = new Set<string>();
  const variables = configs.flatMap(variablesOf).filter(({ name }) => !seen.has(name) && seen.add(name));
  return [
    '# What the services read from their environment. A variable that stands here without a # must be set.',
    '# A secret may be given as NAME_FILE instead, the path of a file that holds it.',
    '# Made from the configuration classes by npm run generate.',
    ...variables.flatMap((variable) => ['', ...explain(variable)]),
    '',
  ].join('\n');
}

function explain({ name, type, options }: Variable): string[] {
  const { description, default: fallback, optional, secret } = options;
  const facts = [type, ...(secret ? ['secret'] : [])].join(', ');
  const shown = Array.isArray(fallback) ? fallback.join(',') : String(fallback ?? '');
  const needed = fallback === undefined && !optional;
  return [`# ${description} (${facts})`, `${needed ? '' : '# '}${name}=${shown}`];
}
