import { Injectable } from '@nestjs/common';

/** The time, as something that a test can hold in its hand. */
export abstract class Clock {
  abstract now(): Date;
}

@Injectable()
export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }
}
