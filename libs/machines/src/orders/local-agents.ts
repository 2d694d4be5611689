import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AgentStatus } from '@muster/contracts';
import { type AgentEntity, Database } from '@muster/database';
import { KeyRing } from '@muster/vault';
import type { LocalAgents } from '@muster/vm';
import { deriveAgentKey } from '../registry/agent-keys';
import { setAgentStatus } from '../life/set-agent-status';
import { endWake } from '../life/wakes';
import { endFailedWake } from './wake-machine';

/** Implements the access to agents that the supervisor of local workers needs. */
@Injectable()
export class LocalAgentRows implements LocalAgents {
  private readonly logger = new Logger(LocalAgentRows.name);

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  async readAgentKey(agentId: string): Promise<string | null> {
    const organizationId = await this.findOrganizationOfAgent(agentId);
    return organizationId && deriveAgentKey(this.database, this.keyRing, { organizationId, agentId });
  }

  async readStatuses(agentIds: string[]): Promise<Map<string, AgentStatus>> {
    const rows = await this.database.query<Pick<AgentEntity, 'id' | 'status'>>(
      'system',
      `SELECT id, status FROM agent WHERE id = ANY($1) AND provider = 'local'`,
      [agentIds],
      'local_statuses',
    );
    return new Map(rows.map(({ id, status }) => [id, status]));
  }

  async recordAbandonedWorker(agentId: string, reason: string): Promise<void> {
    const organizationId = await this.findOrganizationOfAgent(agentId);
    if (!organizationId) return;
    await this.database.transaction('system', async (tx) => {
      await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]);
      const agentRef = { organizationId, agentId };
      if (await endWake(tx, agentId, { state: 'failed', error: reason })) {
        await endFailedWake(tx, agentRef, { eventType: 'wake_failed', reason, found: null, ip: null });
      }
      await setAgentStatus(tx, {
        ...agentRef,
        move: 'gave_up',
        to: 'offline',
        source: 'provider',
        reason,
      });
    });
    this.logger.error(`agent ${agentId} became offline: ${reason}`);
  }

  private async findOrganizationOfAgent(agentId: string): Promise<string | null> {
    const [agent] = await this.database.query<Pick<AgentEntity, 'organizationId'>>(
      'system',
      `SELECT organization_id FROM agent WHERE id = $1 AND status <> 'terminated'`,
      [agentId],
    );
    return agent?.organizationId ?? null;
  }
}
