import type { Principal } from '@muster/access';
import { type AgentStatus, agentStatuses, AppError } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { Client } from 'pg';
import { rebootAgent, startAgent, stopAgent } from '../power/power';
import { drainAgent, undrainAgent } from '../power/drain';
import { handleMissingMachine } from '../reaper/handle-missing-machine';
import { terminateAgent } from '../power/terminate-agent';
import { agentMoves, type MoveName, type MoveOf, listAllowedOrigins } from './agent-life';
import { failSilentAgents } from './fail-silent-agents';
import { LocalAgentRows } from '../orders/local-agents';
import { type AgentRef, endCommands, useMachines } from '@muster/testing';
import { setAgentStatus } from './set-agent-status';
import { stopIfIdle } from '../idle/stop-idle-agents';

jest.setTimeout(120_000);

const names = Object.keys(agentMoves) as MoveName[];
const everyMove = names.flatMap((move) => agentMoves[move].to.map((to) => ({ move, to }) as MoveOf));
const edges = new Set(
  names.flatMap((move) => agentMoves[move].from.flatMap((from) => agentMoves[move].to.map((to) => `${from} → ${to}`))),
);

describe('an agent’s life', () => {
  it('an agent can become terminated from every other status, and then keeps this status forever', () => {
    for (const status of agentStatuses) {
      const leaves = [...edges].some((edge) => edge.startsWith(`${status} →`));
      expect([status, leaves]).toEqual([status, status !== 'terminated']);
      expect(edges.has(`${status} → terminated`)).toBe(status !== 'terminated');
    }
  });

  it('every allowed move of an agent’s status is used, and no other code changes an agent’s status', () => {
    const root = resolve(__dirname, '../../../..');
    const files = execFileSync('git', ['ls-files', 'libs/*/src/*.ts', 'apps/*/src/*.ts'], { cwd: root })
      .toString()
      .split('\n')
      .filter((file) => file && !/\.(spec|harness)\.ts$|^libs\/(testing|database)\/|^apps\/e2e\//.test(file));
    const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
    const code = [...texts.values()].join('\n');
    expect(names.filter((name) => !code.includes(`move: '${name}'`))).toEqual([]);
    const writers = [...texts].filter(([, text]) =>
      [...text.matchAll(/UPDATE agent(?: (?:AS )?\w+)?\s+SET([^`]*?)(?:WHERE|FROM)\b/gi)].some(([, columns]) =>
        /(?<!\w)status\s*=/.test(columns!),
      ),
    );
    expect(writers.map(([file]) => file)).toEqual(['libs/machines/src/life/set-agent-status.ts']);
  });

  it('a move of an agent’s status is refused if the table of moves lacks its target or its lifecycle event', () => {
    expect(() => listAllowedOrigins({ move: 'drain', to: 'online' } as never)).toThrow(
      'the move drain cannot lead to the status online',
    );
    expect(() => listAllowedOrigins({ move: 'fly', to: 'online' } as never)).toThrow(
      'the move fly cannot lead to the status online',
    );
    const wrong = { move: 'stop', to: 'stopping', eventType: 'wake_ready' } as never;
    expect(() => listAllowedOrigins(wrong)).toThrow('the move stop has no lifecycle event wake_ready');
  });

  describe('in the database', () => {
    const fixture = useMachines();

    beforeAll(async () => {
      // A trigger records each change of an agent's status, whichever statement makes it.
      const admin = new Client({ connectionString: fixture.harness.databaseUrl });
      await admin.connect();
      await admin.query(`
        CREATE TABLE seen_move (agent_id uuid, edge text);
        GRANT SELECT ON seen_move TO muster_system;
        CREATE FUNCTION see_move() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
          INSERT INTO seen_move VALUES (NEW.id, OLD.status || ' → ' || NEW.status);
          RETURN NULL;
        END $$;
        CREATE TRIGGER see_move AFTER UPDATE ON agent FOR EACH ROW
          WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION see_move()`);
      await admin.end();
    });

    const edgesOf = async ({ agentId }: AgentRef) =>
      (
        await fixture.db.query<{ edge: string }>('system', 'SELECT edge FROM seen_move WHERE agent_id = $1', [agentId])
      ).map(({ edge }) => edge);

    it('each move of an agent’s status succeeds only from the statuses that the table allows', async () => {
      for (const status of agentStatuses) {
        // Each move gets a new agent, so that the sweep does not interfere.
        for (const one of everyMove) {
          const agentRef = await fixture.agentAt(status, {
            provider: 'external',
            statusSince: new Date(Date.now() + 60_000),
          });
          const moved = await fixture.db.transaction('system', (tx) =>
            setAgentStatus(tx, { ...agentRef, ...one, source: 'api', reason: 'test' }),
          );
          const may = (agentMoves[one.move].from as readonly AgentStatus[]).includes(status);
          expect([one, moved]).toEqual([one, may ? { previous: status } : null]);
          expect(await fixture.statusOf(agentRef)).toBe(may ? one.to : status);
          expect(await edgesOf(agentRef)).toEqual(may && one.to !== status ? [`${status} → ${one.to}`] : []);
        }
      }
    });

    const inTenant = <T>({ organizationId }: Principal, work: (tx: Transaction) => Promise<T>) =>
      fixture.db.transaction({ organizationId }, work);
    const bootOf = async ({ agentId }: AgentRef) =>
      (
        await fixture.db.query<{ boot: string }>('system', 'SELECT boot_id AS boot FROM agent WHERE id = $1', [agentId])
      )[0]!.boot;
    const callerOf = ({ organizationId }: AgentRef): Principal => ({
      kind: 'api_key',
      id: 'testkey01',
      scope: 'api',
      agentId: null,
      role: 'admin',
      organizationId,
      organizationName: 'Organization',
      organizationSuspended: false,
    });

    const actions: Record<string, (agentRef: AgentRef, caller: Principal) => Promise<unknown>> = {
      start: ({ agentId }, caller) => inTenant(caller, (tx) => startAgent(tx, caller, agentId, 400)),
      stop: ({ agentId }, caller) => inTenant(caller, (tx) => stopAgent(tx, caller, agentId, { force: true })),
      reboot: ({ agentId }, caller) => inTenant(caller, (tx) => rebootAgent(tx, caller, agentId)),
      drain: ({ agentId }, caller) => inTenant(caller, (tx) => drainAgent(tx, caller, agentId, { mode: 'finish' })),
      undrain: ({ agentId }, caller) => inTenant(caller, (tx) => undrainAgent(tx, caller, agentId)),
      terminate: ({ agentId }, caller) =>
        inTenant(caller, async (tx) => {
          await terminateAgent(tx, caller, agentId, { force: true });
          await endCommands(tx, { organizationId: caller.organizationId, agentId }, 'api');
        }),
      wake: (agentRef) => fixture.wake(agentRef, { timeoutMs: 400 }),
      newBoot: (agentRef) => fixture.handshake(agentRef, `boot ${Math.random()}`),
      sameBoot: async (agentRef) => fixture.handshake(agentRef, await bootOf(agentRef)),
      beat: async (agentRef) => fixture.heartbeat(agentRef, await bootOf(agentRef)),
      unhealthy: async (agentRef) => {
        for (let beat = 0; beat < 3; beat += 1) await fixture.heartbeat(agentRef, await bootOf(agentRef), false);
      },
      silence: async ({ agentId }) => {
        await fixture.db.query('system', `UPDATE agent SET last_seen = now() - interval '1 hour' WHERE id = $1`, [
          agentId,
        ]);
        await failSilentAgents(fixture.db, { offlineAfterMs: 1 });
      },
      idle: ({ agentId }) => stopIfIdle(fixture.db, agentId, { now: new Date(Date.now() + 3_600_000) }),
      gaveUp: ({ agentId }) =>
        fixture.harness.app.nest.get(LocalAgentRows, { strict: false }).recordAbandonedWorker(agentId, 'test'),
      control: ({ agentId }) => fixture.machines.executeOrder(agentId),
      recover: async (agentRef) => {
        const { agentId } = agentRef;
        await fixture.db.query(
          'system',
          `UPDATE agent SET recovery_checks = 3, recovery_step = 'restart', last_seen = now() WHERE id = $1`,
          [agentId],
        );
        await fixture.recover(agentRef);
      },
      gone: ({ agentId }) =>
        handleMissingMachine(
          fixture.db,
          { location: { provider: 'http', name: 'p' } as never, agentId, listed: Math.random() < 0.2 },
          { confirmMs: 0, onTerminated: endCommands },
        ),
      planeFails: () => Promise.resolve((fixture.plane.behaviour = 'fails')),
      planeWorks: () => Promise.resolve((fixture.plane.behaviour = 'well')),
      switchedOff: () => Promise.resolve((fixture.plane.state = 'stopped')),
    };

    // Set MUSTER_SEED to repeat the same random operations.
    it('random pairs of concurrent operations move an agent’s status only as the table of moves allows', async () => {
      const walked = new Set<string>();
      const step = fc.constantFrom(...Object.keys(actions));
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('stopped', 'offline', 'online'),
          fc.array(fc.tuple(step, step), { minLength: 10, maxLength: 20 }),
          async (status, steps) => {
            const agentRef = await fixture.agentAt(status);
            const caller = callerOf(agentRef);
            for (const pair of steps) {
              const done = await Promise.allSettled(pair.map((name) => actions[name]!(agentRef, caller)));
              for (const one of done) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(AppError);
            }
            const seen = await edgesOf(agentRef);
            for (const edge of seen) walked.add(edge);
            expect(seen.filter((edge) => !edges.has(edge))).toEqual([]);
          },
        ),
        { numRuns: 30, ...(process.env['MUSTER_SEED'] ? { seed: Number(process.env['MUSTER_SEED']) } : {}) },
      );
      expect(walked.size).toBeGreaterThan(15);
    });
  });
});
