import { ClickUpTracker } from './clickup';
import type { TrackerHttp } from './tracker-http';

describe('the time of a ClickUp task’s status', () => {
  const atHour = (hour: number) => new Date(Date.UTC(2026, 2, 2, hour));
  const formatMilliseconds = (date: Date | null) => date && String(date.getTime());

  const changedAtOf = async (type: string, dates: { updated?: Date; done?: Date; closed?: Date }) => {
    const { updated = null, done = null, closed = null } = dates;
    const task = {
      ...{ id: 't1', url: 'https://app.clickup.com/t/t1', status: { status: 'any', type } },
      ...{
        date_created: formatMilliseconds(atHour(1)),
        date_updated: formatMilliseconds(updated),
        date_done: formatMilliseconds(done),
        date_closed: formatMilliseconds(closed),
      },
    };
    const http = { sendRequest: () => Promise.resolve({ body: task, nextPage: null }) };
    return (await new ClickUpTracker('901', http as unknown as TrackerHttp).readItem('t1')).changedAt;
  };

  it('a finished ClickUp task’s status counts as changed when the task was done, even if it was edited later', async () => {
    expect(await changedAtOf('done', { updated: atHour(9), done: atHour(3) })).toEqual(atHour(3));
    expect(await changedAtOf('closed', { updated: atHour(9), closed: atHour(4) })).toEqual(atHour(4));
    expect(await changedAtOf('closed', { updated: atHour(9), done: atHour(3), closed: atHour(4) })).toEqual(atHour(3));
  });

  it('a reopened ClickUp task’s status counts as changed when the task was last edited', async () => {
    expect(await changedAtOf('open', { updated: atHour(9), done: atHour(3) })).toEqual(atHour(9));
    expect(await changedAtOf('custom', { updated: atHour(9), closed: atHour(4) })).toEqual(atHour(9));
  });

  it('the status of a ClickUp task that was never edited counts as changed when the task was created', async () => {
    expect(await changedAtOf('open', {})).toEqual(atHour(1));
  });
});
