import { Inject, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type PubSub, topics } from '../queues/pub-sub';
import { Loop, type LoopParts, type LoopSpec } from './loop';
import { RecoveryHold } from './recovery-hold';

/** Runs the loops of an app. The subclass passes their specs as one table. */
export abstract class AppLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  @Inject(RecoveryHold) private readonly hold!: RecoveryHold;
  private readonly loops: Loop[];
  private readonly pubSub: PubSub;
  private endings: (() => void)[] = [];

  constructor(specs: LoopSpec[], { pubSub, ...parts }: LoopParts & { pubSub: PubSub }) {
    this.loops = specs.map((spec) => new Loop(spec, parts));
    this.pubSub = pubSub;
  }

  onApplicationBootstrap(): void {
    this.hold.waitForRelease().then(
      () => this.start(),
      () => undefined,
    );
  }

  private start(): void {
    const wakeAllLoops = () => this.loops.forEach((loop) => loop.useNormalInterval());
    this.endings = topics.map((topic) => this.pubSub.subscribe(topic, wakeAllLoops));
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const end of this.endings) end();
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
