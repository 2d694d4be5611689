import { readFileSync } from 'node:fs';

export interface VariableOptions<T> {
  description: string;
  /** Value if the variable is absent or empty. Without a default, a variable that is not optional must be set. */
  default?: T;
  optional?: boolean;
  /**
   * Whether the value is a secret. A secret is never printed, and NAME_FILE can contain the path of a file with its
   * value.
   */
  secret?: boolean;
  /** Returns the errors of a parsed value. Each error names the variable and contains no secret. */
  check?(value: T): string[];
}

export interface Variable {
  name: string;
  property: string;
  type: string;
  options: VariableOptions<unknown>;
  parse: (text: string) => unknown;
}

/** Reports all errors of a configuration at once, so that an operator can fix them together. */
export class ConfigError extends Error {
  constructor(
    readonly app: string,
    readonly faults: string[],
  ) {
    super(
      `${faults.length === 1 ? 'A setting is' : 'These settings are'} not valid (${app}):\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}

export type Environment = Record<string, string | undefined>;

/** The only place that reads the process's environment. */
export const processEnvironment: Environment = process.env;

// Suppresses a warning that the AWS SDK prints on Node 20 about its future versions. Users of Muster cannot do anything
// about it.
processEnvironment['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

/**
 * A configuration that also checks combinations of valid values. `findFaults` runs even if some values were not valid.
 * Their properties are then undefined.
 */
export interface ChecksItself {
  findFaults(): string[];
}

/** Reads a configuration class from the environment. Throws ConfigError with all errors. */
export function loadConfig<T extends object>(type: new () => T, env: Environment): T {
  const config = new type() as Record<string, unknown>;
  const faults: string[] = [];
  for (const variable of listVariables(type)) {
    try {
      const value = readEnvVariable(variable, env);
      config[variable.property] = value;
      if (value !== undefined) faults.push(...(variable.options.check?.(value) ?? []));
    } catch (error) {
      faults.push((error as Error).message);
    }
  }
  if (canFindFaults(config)) faults.push(...config.findFaults());
  if (faults.length) throw new ConfigError(type.name, faults);
  return config as T;
}

function canFindFaults(config: object): config is ChecksItself {
  return typeof (config as Partial<ChecksItself>).findFaults === 'function';
}

/** Reads the configurations of several apps in one process. Throws ConfigError with the errors of all of them. */
export function loadConfigs<T extends object>(types: [new () => T, ...(new () => T)[]], env: Environment): [T, ...T[]] {
  const faults = new Set<string>();
  const configs = types.map((type) => {
    try {
      return loadConfig(type, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const fault of error.faults) faults.add(fault);
      return new type();
    }
  });
  if (faults.size) throw new ConfigError(types.map(({ name }) => name).join(', '), [...faults]);
  return configs as [T, ...T[]];
}

/** Returns the variables that a configuration class reads, starting with those of its parent classes. */
export function listVariables(type: new () => object): Variable[] {
  const parent = Object.getPrototypeOf(type) as (new () => object) | null;
  const inherited = parent && parent !== Function.prototype ? listVariables(parent) : [];
  const own = declared.get(type) ?? [];
  return [...inherited.filter(({ property }) => !own.some((variable) => variable.property === property)), ...own];
}

export function EnvText(name: string, options: VariableOptions<string> & { pattern?: RegExp }) {
  return declareEnvVariable(name, 'text', options, (text) => {
    if (options.pattern && !options.pattern.test(text)) throw new Error(`${name} must match ${options.pattern.source}`);
    return text;
  });
}

export function EnvInt(name: string, options: VariableOptions<number> & { min?: number; max?: number }) {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options;
  return declareEnvVariable(name, 'integer', options, (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < min || value > max) {
      throw new Error(`${name} must be an integer from ${min} to ${max}, not "${text}"`);
    }
    return value;
  });
}

export function EnvFlag(name: string, options: VariableOptions<boolean>) {
  return declareEnvVariable(name, 'true or false', options, (text) => {
    if (!['true', 'false'].includes(text)) throw new Error(`${name} must be true or false, not "${text}"`);
    return text === 'true';
  });
}

export function EnvUrl(name: string, options: VariableOptions<string> & { protocols: string[] }) {
  return declareEnvVariable(name, 'URL', options, (text) => {
    if (!URL.canParse(text) || !options.protocols.includes(new URL(text).protocol)) {
      throw new Error(`${name} must be a URL that starts with ${options.protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return text;
  });
}

/** Declares a variable that contains a list, separated by commas. */
export function EnvList(name: string, options: VariableOptions<string[]>) {
  return declareEnvVariable(name, 'list', options, (text) =>
    text
      .split(',')
      .map((word) => word.trim())
      .filter(Boolean),
  );
}

export function EnvChoice(name: string, choices: readonly string[], options: VariableOptions<string>) {
  return declareEnvVariable(name, choices.join(' | '), options, (text) => {
    if (!choices.includes(text)) throw new Error(`${name} must be one of ${choices.join(', ')}, not "${text}"`);
    return text;
  });
}

const declared = new Map<unknown, Variable[]>();

function declareEnvVariable(
  name: string,
  type: string,
  options: VariableOptions<never> | VariableOptions<unknown>,
  parse: (text: string) => unknown,
): PropertyDecorator {
  return (target, property) => {
    const existing = declared.get(target.constructor) ?? [];
    declared.set(target.constructor, [
      ...existing,
      { name, property: String(property), type, options: options as VariableOptions<unknown>, parse },
    ]);
  };
}

function readEnvVariable({ name, options, parse }: Variable, env: Environment): unknown {
  const text = readVariableText(name, options, env);
  if (text === undefined || text === '') {
    if (options.default !== undefined) return options.default;
    if (options.optional) return undefined;
    throw new Error(`${name} is missing: ${options.description}`);
  }
  return parse(text);
}

function readVariableText(name: string, options: VariableOptions<unknown>, env: Environment): string | undefined {
  const file = options.secret ? env[`${name}_FILE`] : undefined;
  if (!file) return env[name];
  if (env[name]) throw new Error(`${name} and ${name}_FILE are both set; remove one of them`);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(`${name}_FILE cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
