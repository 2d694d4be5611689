import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Loop, type LoopParts, type LoopSpec } from './loop';

/** An app's loops, which it names in one table. */
export abstract class AppLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: Loop[];

  constructor(specs: LoopSpec[], parts: LoopParts) {
    this.loops = specs.map((spec) => new Loop(spec, parts));
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
