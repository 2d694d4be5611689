import { Body, Controller, Inject, Ip, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  deriveAgentSigningSecrets,
  getBoundAgent,
  Caller,
  Endpoint,
  type Principal,
  deriveSigningSecrets,
  workers,
} from '@muster/access';
import { MachinesConfig, requireOwnAgent, recordSetupStatus } from '@muster/machines';
import { applyHandshake, applyHeartbeat } from '@muster/commands';
import {
  HandshakeAnswer,
  HandshakeBody,
  HeartbeatAnswer,
  HeartbeatBody,
  SetupStatusBody,
  SuccessAnswer,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { BaseConfig, Clock, getPublicAddress } from '@muster/platform';
import { KeyRing } from '@muster/vault';

/** Receives the reports of workers about their machines. */
@ApiTags('Machines')
@Controller()
export class MachinesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(MachinesConfig) private readonly config: MachinesConfig,
    @Inject(BaseConfig) private readonly base: BaseConfig,
  ) {}

  @Post('/api/agent/heartbeat')
  @Endpoint({
    summary: 'Send a heartbeat',
    description:
      'The worker must end all processes of the jobs that the response lists in `abandon`. 409 means that the ' +
      'machine has not sent a handshake since it booted, or that the agent is terminated.',
    access: workers,
    body: HeartbeatBody,
    answer: HeartbeatAnswer,
    errors: ['agent_not_found', 'conflict'],
  })
  heartbeat(@Caller() caller: Principal, @Ip() address: string, @Body() body: HeartbeatBody): Promise<HeartbeatAnswer> {
    requireOwnAgent(caller, body.agentId);
    return applyHeartbeat(this.database, caller.organizationId, body, this.clock.now(), address);
  }

  @Post('/api/agents/handshake')
  @Endpoint({
    summary: 'Report that a machine has booted',
    description:
      '409 means that the agent is stopping or terminated, or that `bootId` belongs to an earlier boot of the ' +
      'machine.',
    access: workers,
    body: HandshakeBody,
    answer: HandshakeAnswer,
    errors: ['agent_not_found', 'conflict'],
  })
  async handshake(
    @Caller() caller: Principal,
    @Ip() address: string,
    @Body() body: HandshakeBody,
  ): Promise<HandshakeAnswer> {
    const { organizationId } = caller;
    requireOwnAgent(caller, body.agentId);
    const { status } = await this.database.transaction({ organizationId }, (tx) =>
      applyHandshake(tx, organizationId, body, { from: address, serviceUrl: getPublicAddress(this.base) }),
    );
    return {
      agentId: body.agentId,
      organizationId,
      status,
      heartbeatSeconds: this.config.heartbeatSeconds,
      signingSecret: this.deriveSigningSecretFor(caller, body.agentId),
    };
  }

  /**
   * A key that is bound to an agent gets only the secret of this agent, because the organization's secret signs for
   * every agent.
   */
  private deriveSigningSecretFor(caller: Principal, agentId: string): string {
    const { organizationId } = caller;
    const [active] = getBoundAgent(caller)
      ? deriveAgentSigningSecrets(this.keyRing, { organizationId, agentId })
      : deriveSigningSecrets(this.keyRing, organizationId);
    return active!;
  }

  @Post('/api/agent/setup-status')
  @Endpoint({
    summary: 'Report the progress of a machine’s installation',
    access: workers,
    body: SetupStatusBody,
    answer: SuccessAnswer,
    errors: ['agent_not_found', 'conflict'],
  })
  async setupStatus(
    @Caller() caller: Principal,
    @Ip() address: string,
    @Body() body: SetupStatusBody,
  ): Promise<SuccessAnswer> {
    const { organizationId } = caller;
    requireOwnAgent(caller, body.agentId);
    await this.database.transaction({ organizationId }, (tx) => recordSetupStatus(tx, organizationId, body, address));
    return { success: true };
  }
}
