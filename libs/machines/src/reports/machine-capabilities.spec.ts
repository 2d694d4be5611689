import type { AgentEntity } from '@muster/database';
import { listMissingParts, listNeededParts } from './machine-capabilities';

describe('the programs that a machine needs', () => {
  it.each<[Parameters<typeof listNeededParts>[0], object, string[]]>([
    ['run', {}, ['python']],
    ['snippet', {}, ['python']],
    ['function', {}, ['python']],
    ['builder', {}, ['python']],
    ['imaging_images', {}, ['python', 'pillow']],
    ['imaging_composite', {}, ['python', 'pillow', 'odbc']],
    ['autopilot_open', {}, ['python', 'chromium']],
    ['start_recording', { kind: 'screen' }, ['ffmpeg']],
    ['start_recording', { kind: 'screen', startUrl: 'https://a.test' }, ['ffmpeg']],
    ['start_recording', { kind: 'browser' }, ['chromium']],
    ['start_recording', { startUrl: 'https://a.test' }, ['chromium']],
    ['start_recording', {}, []],
    ['stop_job', {}, []],
  ])('a command %s with %j needs %j', (kind, payload, parts) => {
    expect(listNeededParts(kind, payload as Record<string, unknown>)).toEqual(parts);
  });

  it.each<[string, object[] | null, string[]]>([
    ['a worker that reports nothing', null, []],
    ['a program that was not reported', [], []],
    ['a program that is there', [{ name: 'python', available: true }], []],
    ['a program that is missing', [{ name: 'python', available: false }], ['python']],
    ['another program that is missing', [{ name: 'ffmpeg', available: false }], []],
    ['ODBC that nothing requires', [{ name: 'odbc', available: false }], []],
    ['ODBC that the practice database requires', [{ name: 'odbc', available: false, required: true }], ['odbc']],
  ])('the missing parts are listed for %s', (_, capabilities, missing) => {
    const agent = { capabilities } as Pick<AgentEntity, 'capabilities'>;
    expect(listMissingParts(agent, ['python', 'odbc'])).toEqual(missing);
  });
});
