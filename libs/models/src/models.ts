import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Outbound, Semaphore } from '@muster/platform';
import type { ModelEndpoint, ModelMeter, ModelPort } from './model';
import { ModelsConfig } from './models.config';
import { OpenAiModel } from './openai-model';

/** So many organizations' own models are remembered with their turns; what nobody waits for may be forgotten. */
const maxRemembered = 1000;

/**
 * The ways to models: the deployment's, which may be at any address, because who runs the service says where it is; and
 * those that organizations have of their own, which are where the guard of outbound calls lets us go.
 */
@Injectable()
export class Models implements OnApplicationShutdown {
  private readonly deployments: Outbound | null;
  private readonly guarded: Outbound;
  private readonly turns: Semaphore;
  private readonly turnsOfOwners = new Map<string, Semaphore>();

  constructor(@Inject(ModelsConfig) private readonly config: ModelsConfig) {
    const { model, outboundAllow, modelMaxConcurrent } = config;
    const host = model && new URL(model.baseUrl).hostname.replace(/^\[(.*)\]$/, '$1');
    this.deployments = host === null ? null : new Outbound([...outboundAllow, host]);
    this.guarded = new Outbound(outboundAllow);
    this.turns = new Semaphore(modelMaxConcurrent);
  }

  /** The deployment's; null where it has none. */
  ofDeployment(meter: ModelMeter): ModelPort | null {
    const { model: endpoint, modelTimeoutMs: timeoutMs } = this.config;
    if (!endpoint || !this.deployments) return null;
    return new OpenAiModel({ endpoint, outbound: this.deployments, turns: this.turns, timeoutMs, meter });
  }

  /** One that somebody has of their own, with turns of their own, so that nobody waits for another's slow one. */
  ofOwner(owner: string, endpoint: ModelEndpoint, meter: ModelMeter): ModelPort {
    const turns = this.turnsOf(owner);
    return new OpenAiModel({ endpoint, outbound: this.guarded, turns, timeoutMs: this.config.modelTimeoutMs, meter });
  }

  /** Throws OutboundRefused where an own model must not be. */
  checkAddress(baseUrl: string): Promise<void> {
    return this.guarded.check(baseUrl);
  }

  onApplicationShutdown(): void {
    this.deployments?.onApplicationShutdown();
    this.guarded.onApplicationShutdown();
  }

  private turnsOf(owner: string): Semaphore {
    const known = this.turnsOfOwners.get(owner);
    if (known) return known;
    if (this.turnsOfOwners.size >= maxRemembered) this.turnsOfOwners.clear();
    const turns = new Semaphore(this.config.modelMaxConcurrent);
    this.turnsOfOwners.set(owner, turns);
    return turns;
  }
}
