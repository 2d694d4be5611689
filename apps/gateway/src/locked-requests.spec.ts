import { newId } from '@muster/platform';
import {
  type Answer,
  type Harness,
  type HttpClient,
  makeUser,
  runBehindLock,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { gateway } from './gateway.harness';
import { groupsPath, makeOktaUser, toPatch, startProvider, usersPath } from './scim/scim.harness';

interface Race {
  name: string;
  /** Prepares the rows. {user}, {channel} and {organization} are ids. */
  before?: string;
  /** Locks the rows that the request decides about, as a concurrent transaction does. */
  hold: string;
  send: (ids: Ids) => Promise<Answer>;
  /** Statement of the concurrent transaction before it commits. */
  change: string;
  status: number;
}

interface Ids {
  organizationId: string;
  userId: string;
  email: string;
  channelId: string;
}

/** A request that waits for a row decides by the row as it is afterwards, not by the row that it could have read before. */
describe('a request that waits for another transaction', () => {
  let harness: Harness;
  let tenant: Tenant;
  let scim: HttpClient;
  let ids: Ids;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    scim = await startProvider(harness.http, tenant);
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[]) => harness.db.query('system', text, values);
  beforeEach(async () => {
    const { organizationId } = tenant;
    const email = `${newId()}@locked.test`;
    const { id: userId } = await makeUser(harness.db, { organizationId, email, role: 'viewer' });
    const channelId = newId();
    ids = { organizationId, userId, email, channelId };
    await querySql(
      `INSERT INTO own_role (organization_id, name, permissions) VALUES ($1, 'Desk', '{runs.read}')
       ON CONFLICT DO NOTHING`,
      [organizationId],
    );
    await querySql(
      `INSERT INTO organization_sso
         (organization_id, issuer, client_id, master_key_id, wrapped_key, sealed, domains, role_claim, role_map, enforced)
       VALUES ($1, 'https://idp.example.com', 'muster', 'test', '', '', '{}', 'groups', '{}', false)
       ON CONFLICT (organization_id) DO UPDATE SET issuer = excluded.issuer, role_map = excluded.role_map`,
      [organizationId],
    );
    await querySql(
      `INSERT INTO webhook_endpoint (id, organization_id, url, events, name, kind)
       VALUES ($1::uuid, $2, 'https://example.com', '{pack.promoted}', $1::uuid::text, 'slack')`,
      [channelId, organizationId],
    );
  });

  const sso = { issuer: 'https://idp.example.com', clientId: 'muster', domains: [], enforced: false };
  const role = `FROM own_role WHERE organization_id = {organization} AND name = 'Desk'`;
  const races: Race[] = [
    {
      name: 'to create a role finds that the organization has the maximum number of roles',
      hold: "SELECT pg_advisory_xact_lock(hashtextextended('own roles' || chr(31) || {organization}, 0))",
      send: () => tenant.as.admin.post('/api/roles', { name: 'One too many', permissions: ['runs.read'] }),
      change: `INSERT INTO own_role (organization_id, name, permissions)
               SELECT {organization}, 'Role ' || n, '{runs.read}' FROM generate_series(1, 200) n`,
      status: 409,
    },
    {
      name: 'to change the permissions of a role finds that the role was deleted',
      hold: `SELECT ${role} FOR UPDATE`,
      send: () => tenant.as.admin.patch('/api/roles/Desk', { permissions: ['runs.read'] }),
      change: `DELETE ${role}`,
      status: 404,
    },
    {
      name: 'to delete a role finds that a user has received it',
      hold: `SELECT ${role} FOR SHARE`,
      send: () => tenant.as.admin.delete('/api/roles/Desk'),
      change: `UPDATE app_user SET role = 'Desk' WHERE id = {user} AND organization_id = {organization}`,
      status: 409,
    },
    {
      name: 'to give a user a role finds that the role was deleted',
      hold: `SELECT ${role} FOR UPDATE`,
      send: ({ userId }) => tenant.as.admin.patch(`/api/users/${userId}`, { role: 'Desk' }),
      change: `DELETE ${role}`,
      status: 400,
    },
    {
      name: 'to invite a user to a role finds that the role was deleted',
      hold: `SELECT ${role} FOR UPDATE`,
      send: () => tenant.as.admin.post('/api/invitations', { email: `${newId()}@locked.test`, role: 'Desk' }),
      change: `DELETE ${role}`,
      status: 400,
    },
    {
      name: 'to map a group to a role finds that the role was deleted',
      hold: `SELECT ${role} FOR UPDATE`,
      send: () => tenant.as.admin.put('/api/organization/sso', { ...sso, roleClaim: 'groups', roleMap: { a: 'Desk' } }),
      change: `DELETE ${role}`,
      status: 400,
    },
    {
      name: 'to keep the client secret finds that the identity provider was changed',
      hold: 'SELECT FROM organization_sso WHERE organization_id = {organization} FOR UPDATE',
      send: () => tenant.as.admin.put('/api/organization/sso', sso),
      change: `UPDATE organization_sso SET issuer = 'https://other.example.com' WHERE organization_id = {organization}`,
      status: 400,
    },
    {
      name: 'to change an alert rule continues after a concurrent change of the rule',
      hold: `SELECT pg_advisory_xact_lock(hashtextextended(
               'alert rule' || chr(31) || {organization}::text || ' wake_failed', 0))`,
      send: () => tenant.as.admin.put('/api/alert-rules/wake_failed', { enabled: true, channelIds: [] }),
      change: 'SELECT',
      status: 200,
    },
    {
      name: 'to send alerts to a channel finds that the channel was deleted',
      hold: 'SELECT FROM webhook_endpoint WHERE id = {channel} AND organization_id = {organization} FOR UPDATE',
      send: ({ channelId }) =>
        tenant.as.admin.put('/api/alert-rules/wake_failed', { enabled: true, channelIds: [channelId] }),
      change: 'DELETE FROM webhook_endpoint WHERE id = {channel} AND organization_id = {organization}',
      status: 400,
    },
    {
      name: 'of an identity provider to change a user finds that the user became a super_admin',
      hold: 'SELECT FROM app_user WHERE id = {user} AND organization_id = {organization} FOR UPDATE',
      send: ({ userId }) =>
        scim.patch(`${usersPath}/${userId}`, toPatch({ op: 'replace', path: 'displayName', value: 'Sam' })),
      change: `UPDATE app_user SET role = 'super_admin' WHERE id = {user} AND organization_id = {organization}`,
      status: 403,
    },
    {
      name: 'of an identity provider to create a user finds that the account exists again',
      before: `WITH deleted AS (
                 INSERT INTO scim_user (user_id, organization_id, deleted_at, updated_at)
                 VALUES ({user}, {organization}, now(), now()))
               UPDATE app_user SET disabled = true WHERE id = {user}`,
      hold: 'SELECT FROM app_user WHERE id = {user} FOR UPDATE',
      send: ({ email }) => scim.post(usersPath, makeOktaUser(email)),
      change: `UPDATE app_user SET disabled = false WHERE id = {user} AND organization_id = {organization}`,
      status: 409,
    },
    {
      name: 'of an identity provider to create a group finds that a member was deleted',
      hold: 'SELECT FROM app_user WHERE id = {user} AND organization_id = {organization} FOR UPDATE',
      send: ({ userId }) => scim.post(groupsPath, { displayName: newId(), members: [{ value: userId }] }),
      change: 'DELETE FROM app_user WHERE id = {user} AND organization_id = {organization}',
      status: 400,
    },
  ];

  it.each(races.map((race) => [race.name, race] as const))(
    'a request fails if, after it waited for another transaction, the request %s',
    async (_, race) => {
      const { before, hold, send, change, status } = race;
      const { organizationId: organization, userId: user, channelId: channel } = ids;
      const fillPlaceholders = (text: string) =>
        Object.entries({ organization, user, channel }).reduce(
          (filled, [name, id]) => filled.replaceAll(`{${name}}`, `'${id}'`),
          text,
        );
      if (before) await querySql(fillPlaceholders(before), []);
      const [answer] = await runBehindLock(
        harness.db,
        (tx) => tx.query(fillPlaceholders(hold)),
        () => [send(ids)],
        (tx) => tx.query(fillPlaceholders(change)),
      );
      expect([answer!.status, answer!.body]).toEqual([status, expect.anything()]);
    },
  );
});
