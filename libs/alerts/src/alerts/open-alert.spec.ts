import type { Principal } from '@muster/access';
import { type Database, DatabaseModule } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import type { EventRow } from '@muster/webhooks';
import { evaluateEventByRules } from '../rules/evaluate-event';
import { purgeAlerts } from '../sweeps/purge-alerts';
import { sweepAlerts } from '../sweeps/sweep-alerts';
import { acknowledgeAlert } from './alert-row';
import { openOrCountAlert, type NewAlert } from './open-alert';

describe('alerts', () => {
  let harness: Harness;
  let db: Database;
  let organizationId: string;
  let channelId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    db = harness.db;
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    organizationId = (await makeOrganization(db)).id;
    channelId = newId();
    await rows(
      `INSERT INTO webhook_endpoint (id, organization_id, name, kind, recipients, events)
       VALUES ($1, $2, 'Front desk', 'email', '{desk@practice.example}', '{pack.promoted}')`,
      ...[channelId, organizationId],
    );
  });

  const rows = (sql: string, ...values: unknown[]) => db.query<any>('system', sql, values);
  const alerts = () =>
    rows('SELECT id, rule, count, resolved_at FROM alert WHERE organization_id = $1 ORDER BY id', organizationId);
  const sent = (type = 'alert.opened') =>
    rows(
      'SELECT subject_id, channel_ids FROM webhook_event WHERE organization_id = $1 AND type = $2',
      organizationId,
      type,
    );
  const streamed = async () =>
    (
      await rows(`SELECT data FROM organization_event WHERE organization_id = $1 AND type = 'alert'`, organizationId)
    ).map(({ data }) => data.status);
  const turnOn = (rule: string, options: object = {}) =>
    rows(
      'INSERT INTO alert_rule (organization_id, rule, enabled, channel_ids, options) VALUES ($1, $2, true, $3, $4)',
      ...[organizationId, rule, [channelId], JSON.stringify(options)],
    );
  const deadLetter = () =>
    rows(
      `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at)
       VALUES ($1, 'dispatch', 'dispatch-agent', '{}', $2, NULL)`,
      ...[newId(), organizationId],
    );
  const sweepOnce = () => sweepAlerts(db, new Round('sweep alerts'));

  it('two processes that report the same subject share one open alert, whose message is sent once', async () => {
    const alert: NewAlert = {
      ...{ organizationId, rule: 'wake_failed', channelIds: [channelId], workflowId: null, agentId: null },
      subject: { type: 'agent', id: newId(), name: 'Front desk' },
    };
    const add = () => db.transaction('system', (tx) => openOrCountAlert(tx, alert, { at: new Date() }));
    await runBehindLock(
      db,
      (tx) => openOrCountAlert(tx, alert, { at: new Date() }),
      () => [add(), add()],
    );
    const found = await alerts();
    expect(found).toMatchObject([{ rule: 'wake_failed', count: 3, resolvedAt: null }]);
    expect(await sent()).toEqual([{ subjectId: found[0].id, channelIds: [channelId] }]);
  });

  it('an alert that two people acknowledge at the same time names the first one to both', async () => {
    const id = newId();
    await rows(
      `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name)
       VALUES ($1, $2, 'wake_failed', 'agent', $3, 'Front desk')`,
      ...[id, organizationId, newId()],
    );
    const acknowledge = (email: string) => {
      const caller = { kind: 'user', id: newId(), email, role: 'member', organizationId } as Principal;
      return db.transaction({ organizationId }, (tx) => acknowledgeAlert(tx, caller, id));
    };
    const answers = await runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM alert WHERE id = $1 FOR UPDATE', [id]),
      () => [acknowledge('ana@practice.example'), acknowledge('ben@practice.example')],
    );
    const [{ acknowledgedBy }] = await rows('SELECT acknowledged_by FROM alert WHERE id = $1', id);
    expect(answers.map((answer) => answer.acknowledgedBy)).toEqual([acknowledgedBy, acknowledgedBy]);
  });

  it('two sweeps at the same time open one alert, whose message is sent once', async () => {
    await turnOn('dead_letter');
    await deadLetter();
    await Promise.all([sweepOnce(), sweepOnce(), sweepOnce()]);
    expect(await alerts()).toMatchObject([{ rule: 'dead_letter', count: 1, resolvedAt: null }]);
    expect(await sent()).toHaveLength(1);
  });

  it('a sweep resolves the open alerts of a rule that is off and opens no new ones', async () => {
    await turnOn('dead_letter');
    await deadLetter();
    await sweepOnce();
    await rows('UPDATE alert_rule SET enabled = false WHERE organization_id = $1', organizationId);
    await deadLetter();
    await sweepOnce();
    expect(await alerts()).toMatchObject([{ count: 1, resolvedAt: expect.any(Date) }]);
    // A rule that is off sends no messages; open pages still learn that the alert is resolved.
    expect(await sent('alert.resolved')).toEqual([]);
    expect((await streamed()).sort()).toEqual(['open', 'resolved']);
  });

  it('two sweeps at the same time resolve an alert whose cause has ended, and its message is sent once', async () => {
    await turnOn('dead_letter');
    await deadLetter();
    await sweepOnce();
    await rows('DELETE FROM outbox WHERE organization_id = $1', organizationId);
    await Promise.all([sweepOnce(), sweepOnce(), sweepOnce()]);
    const [{ id }] = await alerts();
    expect(await sent('alert.resolved')).toEqual([{ subjectId: id, channelIds: [channelId] }]);
    expect((await streamed()).sort()).toEqual(['open', 'resolved']);
  });

  it('an alert for an account that is set aside has the account’s name from the event', async () => {
    await turnOn('account_set_aside');
    const event = {
      ...{ id: newId(), organizationId, type: 'account.set_aside', subjectId: newId(), sequence: 1 },
      ...{ details: { name: 'Delta Dental, front desk' }, createdAt: new Date() },
    } as unknown as EventRow;
    for (const _ of [1, 2]) await db.transaction('system', (tx) => evaluateEventByRules(tx, event));
    expect(
      await rows(
        'SELECT rule, subject_type, subject_id, subject_name, count FROM alert WHERE organization_id = $1',
        organizationId,
      ),
    ).toEqual([
      {
        ...{ rule: 'account_set_aside', subjectType: 'account', subjectId: event.subjectId },
        ...{ subjectName: 'Delta Dental, front desk', count: 2 },
      },
    ]);
  });

  it('the alert of an account is open until the account is put back', async () => {
    await turnOn('account_set_aside');
    const id = newId();
    await rows(
      `INSERT INTO account (organization_id, name, id, pool, vault_keys, "limit", cooldown_seconds, enabled,
         set_aside_reason, set_aside_since)
       VALUES ($1, 'front-desk', $2, 'delta', '{}', 1, 0, true, 'locked', muster_now())`,
      organizationId,
      id,
    );
    const event = {
      ...{ id: newId(), organizationId, type: 'account.set_aside', subjectId: id, sequence: 1 },
      ...{ details: { name: 'front-desk' }, createdAt: new Date() },
    } as unknown as EventRow;
    await db.transaction('system', (tx) => evaluateEventByRules(tx, event));
    await sweepOnce();
    expect(await alerts()).toMatchObject([{ count: 1, resolvedAt: null }]);
    await rows('UPDATE account SET set_aside_reason = NULL, set_aside_since = NULL WHERE id = $1', id);
    await sweepOnce();
    expect(await alerts()).toMatchObject([{ count: 1, resolvedAt: expect.any(Date) }]);
  });

  it('the alert of a machine that could not be woken is open until the machine is on or terminated', async () => {
    await turnOn('wake_failed');
    const statuses = ['stopped', 'starting', 'offline', 'online', 'draining', 'terminated'] as const;
    for (const status of statuses) {
      const { id } = await makeAgent(db, { organizationId, status, name: status });
      const alert: NewAlert = {
        ...{ organizationId, rule: 'wake_failed', channelIds: [channelId], workflowId: null, agentId: id },
        subject: { type: 'agent', id, name: status },
      };
      await db.transaction('system', (tx) => openOrCountAlert(tx, alert, { at: new Date() }));
    }
    await sweepOnce();
    const open = await rows(
      'SELECT subject_name AS name FROM alert WHERE organization_id = $1 AND resolved_at IS NULL ORDER BY id',
      organizationId,
    );
    expect(open.map(({ name }) => name)).toEqual(['stopped', 'starting', 'offline']);
  });

  it('an alert whose rule is off is resolved even if the rule is on in another organization', async () => {
    await turnOn('wake_failed');
    const { id: other } = await makeOrganization(db);
    await rows(
      `INSERT INTO alert_rule (organization_id, rule, enabled, channel_ids, options)
       SELECT $1, rule, true, '{}', options FROM alert_rule WHERE organization_id = $2`,
      ...[other, organizationId],
    );
    const { id } = await makeAgent(db, { organizationId, status: 'stopped' });
    const alert: NewAlert = {
      ...{ organizationId, rule: 'wake_failed', channelIds: [channelId], workflowId: null, agentId: id },
      subject: { type: 'agent', id, name: 'Front desk' },
    };
    await db.transaction('system', (tx) => openOrCountAlert(tx, alert, { at: new Date() }));
    await sweepOnce();
    expect(await alerts()).toMatchObject([{ resolvedAt: null }]);
    await rows('UPDATE alert_rule SET enabled = false WHERE organization_id = $1', organizationId);
    await sweepOnce();
    expect(await alerts()).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  });

  it('a resolved alert is deleted after 90 days, an open one is not', async () => {
    const insert = (days: number | null) =>
      rows(
        `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name, opened_at, resolved_at)
         VALUES ($1, $2, 'wake_failed', 'agent', $3, 'Front desk', muster_now() - interval '1 year',
           muster_now() - $4::int * interval '1 day')`,
        ...[newId(), organizationId, newId(), days],
      );
    for (const days of [91, 89, null]) await insert(days);
    await purgeAlerts(db, new Round('purge alerts'), new Date());
    expect(await alerts()).toMatchObject([{ resolvedAt: expect.any(Date) }, { resolvedAt: null }]);
  });
});
