import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, EnvChoice, EnvFlag, EnvInt, EnvList, EnvText, EnvUrl, loadConfig, loadConfigs } from './env';

class Example {
  @EnvText('NAME', { description: 'who' }) readonly name!: string;
  @EnvInt('COUNT', { description: 'how many', default: 3, min: 1, max: 9 }) readonly count!: number;
  @EnvFlag('LOUD', { description: 'whether', default: false }) readonly loud!: boolean;
  @EnvUrl('WHERE', { description: 'where', protocols: ['https:'], optional: true }) readonly where?: string;
  @EnvList('WORDS', { description: 'what', default: [] }) readonly words!: string[];
  @EnvChoice('SIZE', ['s', 'm'], { description: 'size', default: 's' }) readonly size!: string;
  @EnvText('SECRET', { description: 'psst', secret: true, optional: true }) readonly secret?: string;
}

class Extended extends Example {
  @EnvInt('MORE', { description: 'more' }) readonly more!: number;
}

describe('configuration', () => {
  it('the configuration reads values of every type and applies the defaults', () => {
    expect(loadConfig(Example, { NAME: 'a', WORDS: ' x, y ,', LOUD: 'true', COUNT: '' })).toEqual({
      name: 'a',
      count: 3,
      loud: true,
      where: undefined,
      words: ['x', 'y'],
      size: 's',
      secret: undefined,
    });
  });

  it('the configuration reports all errors at once', () => {
    const env = { COUNT: '10', LOUD: 'yes', WHERE: 'http://x', SIZE: 'xl', MORE: '1.5' };
    const faults = (() => {
      try {
        loadConfig(Extended, env);
        return [];
      } catch (error) {
        return (error as ConfigError).faults;
      }
    })();
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual(['NAME', 'COUNT', 'LOUD', 'WHERE', 'SIZE', 'MORE']);
  });

  it('the configuration reports the errors of several apps together, without repeating an error that they share', () => {
    expect(() => loadConfigs([Example, Extended], {})).toThrow(/NAME is missing[\s\S]*MORE is missing/);
    expect(() => loadConfigs([Example, Extended], {})).not.toThrow(/NAME[\s\S]*NAME is missing/);
  });

  it('the configuration reads a secret from a file and rejects a variable that has both a value and a file', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'muster-env-')), 'secret');
    writeFileSync(file, 'from the file\n');
    expect(loadConfig(Example, { NAME: 'a', SECRET_FILE: file }).secret).toBe('from the file');
    expect(() => loadConfig(Example, { NAME: 'a', SECRET_FILE: file, SECRET: 'x' })).toThrow(/both set/);
    expect(() => loadConfig(Example, { NAME: 'a', SECRET_FILE: '/nowhere' })).toThrow(/SECRET_FILE cannot be read/);
  });

  it('the configuration ignores NAME_FILE for a variable that is not a secret', () => {
    expect(() => loadConfig(Example, { NAME_FILE: '/etc/hostname' })).toThrow(/NAME is missing/);
  });
});
