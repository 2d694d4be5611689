import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Outbound, Semaphore } from '@muster/platform';
import type { ModelEndpoint, ModelMeter, ModelPort } from './model';
import { ModelsConfig } from './models.config';
import { OpenAiModel } from './openai-model';

/**
 * Maximum number of stored semaphores, one per owner. When it is reached, all stored semaphores are removed; calls in
 * progress keep theirs.
 */
const maxStoredSemaphores = 1000;

/**
 * Opens models. The model that the operator configured for the service may have any address. An organization's own
 * model may have only an address that the outbound guard allows.
 */
@Injectable()
export class Models implements OnApplicationShutdown {
  private readonly deployments: Outbound | null;
  private readonly guarded: Outbound;
  private readonly turns: Semaphore;
  private readonly turnsOfOwners = new Map<string, Semaphore>();

  constructor(@Inject(ModelsConfig) private readonly config: ModelsConfig) {
    const { modelEndpoint: model, outboundAllow, modelMaxConcurrent } = config;
    const host = model && new URL(model.baseUrl).hostname.replace(/^\[(.*)\]$/, '$1');
    this.deployments = host === null ? null : new Outbound([...outboundAllow, host]);
    this.guarded = new Outbound(outboundAllow);
    this.turns = new Semaphore(modelMaxConcurrent);
  }

  /** Returns the deployment's model; null if none is configured. */
  openDeploymentModel(meter: ModelMeter): ModelPort | null {
    const { modelEndpoint: endpoint, modelTimeoutMs: timeoutMs } = this.config;
    if (!endpoint || !this.deployments) return null;
    return new OpenAiModel({ endpoint, outbound: this.deployments, turns: this.turns, timeoutMs, meter });
  }

  /** Returns an owner's own model. Each owner has a separate limit of calls, so that none waits for another's model. */
  openOwnerModel(owner: string, endpoint: ModelEndpoint, meter: ModelMeter): ModelPort {
    const turns = this.getTurnsOfOwner(owner);
    return new OpenAiModel({ endpoint, outbound: this.guarded, turns, timeoutMs: this.config.modelTimeoutMs, meter });
  }

  /** Throws OutboundRefused if an own model must not have this address. */
  checkModelAddress(baseUrl: string): Promise<void> {
    return this.guarded.checkAddress(baseUrl);
  }

  onApplicationShutdown(): void {
    this.deployments?.onApplicationShutdown();
    this.guarded.onApplicationShutdown();
  }

  private getTurnsOfOwner(owner: string): Semaphore {
    const cached = this.turnsOfOwners.get(owner);
    if (cached) return cached;
    if (this.turnsOfOwners.size >= maxStoredSemaphores) this.turnsOfOwners.clear();
    const turns = new Semaphore(this.config.modelMaxConcurrent);
    this.turnsOfOwners.set(owner, turns);
    return turns;
  }
}
