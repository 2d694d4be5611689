import { type Variable, listVariables } from '@muster/platform';

/** Content of `.env.example`: every environment variable of every app, once, with its description. */
export function writeEnvExample(configs: readonly (new () => object)[]): string {
  const seen = new Set<string>();
  const variables = configs.flatMap(listVariables).filter(({ name }) => !seen.has(name) && seen.add(name));
  return [
    '# Environment variables of the services. A variable without a leading # is required; the others show their defaults.',
    '# A secret can be in a file: set NAME_FILE to the path of the file instead of NAME.',
    '# Generated from the configuration classes by npm run generate; do not edit.',
    ...variables.flatMap((variable) => ['', ...describeVariable(variable)]),
    '',
  ].join('\n');
}

function describeVariable({ name, type, options }: Variable): string[] {
  const { description, default: fallback, optional, secret } = options;
  const facts = [type, ...(secret ? ['secret'] : [])].join(', ');
  const shown = Array.isArray(fallback) ? fallback.join(',') : String(fallback ?? '');
  const needed = fallback === undefined && !optional;
  return [`# ${description} (${facts})`, `${needed ? '' : '# '}${name}=${shown}`];
}
