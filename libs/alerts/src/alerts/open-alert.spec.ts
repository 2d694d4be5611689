import type { Principal } from '@muster/access';
import { type Database, DatabaseModule } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import {
  runBehindLock,
  type Harness,
  makeAgent,
  makeJob,
  makeOrganization,
  makeWorkflow,
  startHarness,
} from '@muster/testing';
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
    await queryRows(
      `INSERT INTO webhook_endpoint (id, organization_id, name, kind, recipients, events)
       VALUES ($1, $2, 'Front desk', 'email', '{desk@practice.example}', '{pack.promoted}')`,
      ...[channelId, organizationId],
    );
  });

  const queryRows = (sql: string, ...values: unknown[]) => db.query<any>('system', sql, values);
  const readAlerts = () =>
    queryRows('SELECT id, rule, count, resolved_at FROM alert WHERE organization_id = $1 ORDER BY id', organizationId);
  const readWebhookEvents = (type = 'alert.opened') =>
    queryRows(
      'SELECT subject_id, channel_ids FROM webhook_event WHERE organization_id = $1 AND type = $2',
      organizationId,
      type,
    );
  const readStreamedStatuses = async () =>
    (
      await queryRows(
        `SELECT data FROM organization_event WHERE organization_id = $1 AND type = 'alert'`,
        organizationId,
      )
    ).map(({ data }) => data.status);
  const turnRuleOn = (rule: string, options: object = {}) =>
    queryRows(
      'INSERT INTO alert_rule (organization_id, rule, enabled, channel_ids, options) VALUES ($1, $2, true, $3, $4)',
      ...[organizationId, rule, [channelId], JSON.stringify(options)],
    );
  const makeDeadLetter = () =>
    queryRows(
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
    const openOrCount = () => db.transaction('system', (tx) => openOrCountAlert(tx, alert, { at: new Date() }));
    await runBehindLock(
      db,
      (tx) => openOrCountAlert(tx, alert, { at: new Date() }),
      () => [openOrCount(), openOrCount()],
    );
    const found = await readAlerts();
    expect(found).toMatchObject([{ rule: 'wake_failed', count: 3, resolvedAt: null }]);
    expect(await readWebhookEvents()).toEqual([{ subjectId: found[0].id, channelIds: [channelId] }]);
  });

  it('an alert that two people acknowledge at the same time names the first one to both', async () => {
    const id = newId();
    await queryRows(
      `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name)
       VALUES ($1, $2, 'wake_failed', 'agent', $3, 'Front desk')`,
      ...[id, organizationId, newId()],
    );
    const acknowledgeAs = (email: string) => {
      const caller = { kind: 'user', id: newId(), email, role: 'member', organizationId } as Principal;
      return db.transaction({ organizationId }, (tx) => acknowledgeAlert(tx, caller, id));
    };
    const answers = await runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM alert WHERE id = $1 FOR UPDATE', [id]),
      () => [acknowledgeAs('ana@practice.example'), acknowledgeAs('ben@practice.example')],
    );
    const [{ acknowledgedBy }] = await queryRows('SELECT acknowledged_by FROM alert WHERE id = $1', id);
    expect(answers.map((answer) => answer.acknowledgedBy)).toEqual([acknowledgedBy, acknowledgedBy]);
  });

  it('two sweeps at the same time open one alert, whose message is sent once', async () => {
    await turnRuleOn('dead_letter');
    await makeDeadLetter();
    await Promise.all([sweepOnce(), sweepOnce(), sweepOnce()]);
    expect(await readAlerts()).toMatchObject([{ rule: 'dead_letter', count: 1, resolvedAt: null }]);
    expect(await readWebhookEvents()).toHaveLength(1);
  });

  it('a sweep does not report a condition again that has not changed', async () => {
    await turnRuleOn('dead_letter');
    await makeDeadLetter();
    await sweepOnce();
    const before = [await readAlerts(), await readStreamedStatuses()];
    await sweepOnce();
    expect([await readAlerts(), await readStreamedStatuses()]).toEqual(before);
    await makeDeadLetter();
    await sweepOnce();
    expect(await readAlerts()).toMatchObject([{ count: 2 }]);
  });

  it('a sweep resolves the open alerts of a rule that is off and opens no new ones', async () => {
    await turnRuleOn('dead_letter');
    await makeDeadLetter();
    await sweepOnce();
    await queryRows('UPDATE alert_rule SET enabled = false WHERE organization_id = $1', organizationId);
    await makeDeadLetter();
    await sweepOnce();
    expect(await readAlerts()).toMatchObject([{ count: 1, resolvedAt: expect.any(Date) }]);
    // A rule that is off sends no messages; open pages still learn that the alert is resolved.
    expect(await readWebhookEvents('alert.resolved')).toEqual([]);
    expect((await readStreamedStatuses()).sort()).toEqual(['open', 'resolved']);
  });

  it('two sweeps at the same time resolve an alert whose cause has ended, and its message is sent once', async () => {
    await turnRuleOn('dead_letter');
    await makeDeadLetter();
    await sweepOnce();
    await queryRows('DELETE FROM outbox WHERE organization_id = $1', organizationId);
    await Promise.all([sweepOnce(), sweepOnce(), sweepOnce()]);
    const [{ id }] = await readAlerts();
    expect(await readWebhookEvents('alert.resolved')).toEqual([{ subjectId: id, channelIds: [channelId] }]);
    expect((await readStreamedStatuses()).sort()).toEqual(['open', 'resolved']);
  });

  it('an alert for an account that is set aside has the account’s name from the event', async () => {
    await turnRuleOn('account_set_aside');
    const event = {
      ...{ id: newId(), organizationId, type: 'account.set_aside', subjectId: newId(), sequence: 1 },
      ...{ details: { name: 'Delta Dental, front desk' }, createdAt: new Date() },
    } as unknown as EventRow;
    for (const _ of [1, 2]) await db.transaction('system', (tx) => evaluateEventByRules(tx, event));
    expect(
      await queryRows(
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
    await turnRuleOn('account_set_aside');
    const id = newId();
    await queryRows(
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
    expect(await readAlerts()).toMatchObject([{ count: 1, resolvedAt: null }]);
    await queryRows('UPDATE account SET set_aside_reason = NULL, set_aside_since = NULL WHERE id = $1', id);
    await sweepOnce();
    expect(await readAlerts()).toMatchObject([{ count: 1, resolvedAt: expect.any(Date) }]);
  });

  it('the alert of a machine that could not be woken is open until the machine is on or terminated', async () => {
    await turnRuleOn('wake_failed');
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
    const open = await queryRows(
      'SELECT subject_name AS name FROM alert WHERE organization_id = $1 AND resolved_at IS NULL ORDER BY id',
      organizationId,
    );
    expect(open.map(({ name }) => name)).toEqual(['stopped', 'starting', 'offline']);
  });

  it('an alert whose rule is off is resolved even if the rule is on in another organization', async () => {
    await turnRuleOn('wake_failed');
    const { id: other } = await makeOrganization(db);
    await queryRows(
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
    expect(await readAlerts()).toMatchObject([{ resolvedAt: null }]);
    await queryRows('UPDATE alert_rule SET enabled = false WHERE organization_id = $1', organizationId);
    await sweepOnce();
    expect(await readAlerts()).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  });

  it('a resolved alert is deleted after 90 days, an open one is not', async () => {
    const insertAlertResolvedDaysAgo = (days: number | null) =>
      queryRows(
        `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name, opened_at, resolved_at)
         VALUES ($1, $2, 'wake_failed', 'agent', $3, 'Front desk', muster_now() - interval '1 year',
           muster_now() - $4::int * interval '1 day')`,
        ...[newId(), organizationId, newId(), days],
      );
    for (const days of [91, 89, null]) await insertAlertResolvedDaysAgo(days);
    await purgeAlerts(db, new Round('purge alerts'), new Date());
    expect(await readAlerts()).toMatchObject([{ resolvedAt: expect.any(Date) }, { resolvedAt: null }]);
  });

  it('a sweep does not send the end of an alert that another process resolves while the sweep waits', async () => {
    await turnRuleOn('dead_letter');
    await makeDeadLetter();
    await sweepOnce();
    await queryRows('UPDATE alert_rule SET enabled = false WHERE organization_id = $1', organizationId);
    const [{ id }] = await readAlerts();
    await runBehindLock(
      db,
      (tx) => tx.query('SELECT FROM alert WHERE id = $1 FOR UPDATE', [id]),
      () => [sweepOnce()],
      (tx) => tx.execute('UPDATE alert SET resolved_at = muster_now() WHERE id = $1', [id]),
    );
    expect(await readWebhookEvents('alert.resolved')).toEqual([]);
  });

  it('a completed run resolves the alert about failed runs only if it ended after them, in any order of the events', async () => {
    await turnRuleOn('run_failed');
    const { id: workflowId } = await makeWorkflow(db, { organizationId });
    const { id: agentId } = await makeAgent(db, { organizationId });
    const reportEnd = async (type: 'job.failed' | 'job.completed', minute: number) => {
      const status = type === 'job.failed' ? ('failed' as const) : ('completed' as const);
      const finishedAt = new Date(Date.UTC(2026, 2, 2, 9, minute));
      const run = await makeJob(db, { organizationId, workflowId, agentId, status, finishedAt });
      const event = { id: newId(), organizationId, type, subjectId: run.id, sequence: 1, createdAt: finishedAt };
      await db.transaction('system', (tx) => evaluateEventByRules(tx, event as unknown as EventRow));
    };
    await reportEnd('job.failed', 2);
    await reportEnd('job.completed', 1);
    expect(await readAlerts()).toMatchObject([{ count: 1, resolvedAt: null }]);
    await reportEnd('job.completed', 3);
    expect(await readAlerts()).toMatchObject([{ count: 1, resolvedAt: expect.any(Date) }]);
  });
});
