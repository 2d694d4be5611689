import { BooleanField, EnumField, NumberField, TextField } from '../fields';
import { type ScreenInputKind, screenInputKinds, type ScreenKey, screenKeys } from './question-words';

const jpeg = {
  max: 400_000,
  // The first bytes of a JPEG file, encoded as base64.
  pattern: /^\/9j\/[A-Za-z0-9+/]+={0,2}$/,
  example: '/9j/4AAQSkZJRgABAQ==',
  description: 'JPEG image of at most 720 × 720 pixels, encoded as base64.',
};
const size = { min: 1, max: 20_000, example: 1280 };

/** An image of the browser, from the worker and to the people who watch. It is never stored. */
export class ScreenFrame {
  @TextField(jpeg) data!: string;
  @NumberField({ ...size, description: 'Width of the page in CSS pixels, the unit of the coordinates of input.' })
  width!: number;
  @NumberField({ ...size, example: 720, description: 'Height of the page in CSS pixels.' }) height!: number;
}

export class ScreenFrameTaken {
  @BooleanField({
    example: true,
    description: 'Whether somebody watches. If nobody does, the worker must stop sending frames.',
  })
  watched!: boolean;
}

/** Event `end`: nothing follows, because the run has ended. */
export class ScreenEnd {
  @TextField({ example: 'completed', description: 'Status of the run.' }) status!: string;
}

/** Event `watch` to the worker: whether somebody watches the browser. */
export class ScreenWatch {
  @BooleanField({ example: true }) watched!: boolean;
}

const coordinate = { optional: true, min: 0, max: 20_000, example: 120 };
const distance = { optional: true, min: -10_000, max: 10_000, example: 400 };

export class ScreenInput {
  @EnumField(screenInputKinds) kind!: ScreenInputKind;
  @NumberField({ ...coordinate, description: 'Position from the left of the page’s view, for click and scroll.' })
  x?: number;
  @NumberField({ ...coordinate, description: 'Position from the top of the page’s view, for click and scroll.' })
  y?: number;
  @TextField({
    optional: true,
    max: 1000,
    example: 'tooth 14',
    description: 'Text to type, for type. It is not stored.',
  })
  text?: string;
  @EnumField(screenKeys, { optional: true, description: 'Key to press, for key.' }) key?: ScreenKey;
  @NumberField({ ...distance, description: 'Distance to the right in CSS pixels, for scroll; 0 when absent.' })
  deltaX?: number;
  @NumberField({ ...distance, description: 'Distance down in CSS pixels, for scroll; 0 when absent.' })
  deltaY?: number;
}

export class ScreenInputSent {
  @BooleanField({ example: true, description: 'Whether the input was sent to the worker.' }) sent!: boolean;
}
