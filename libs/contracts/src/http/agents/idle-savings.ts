import { EnumField, NumberField, ObjectField } from '../fields';
import { type IdleStopPolicy, idleStopPolicies } from '../access/settings';

class SavedTime {
  @NumberField({
    example: 12.5,
    min: -1_000_000_000,
    description: 'Saved time in machine-hours. Negative if more was spent.',
  })
  hours!: number;
  @NumberField({
    example: 1.5,
    min: -1_000_000_000,
    description: 'Saved cost in US dollars, at the hourly cost of the machines.',
  })
  usd!: number;
}

export class IdleSavings {
  @EnumField(idleStopPolicies, { description: 'Current idle stop policy.' }) policy!: IdleStopPolicy;
  @NumberField({ example: 120.25, description: 'Hours that machines were idle between two runs.' })
  idleHours!: number;
  @NumberField({ example: 40.5, description: 'Hours of idleHours in which the machines were on.' }) onHours!: number;
  @ObjectField(() => SavedTime, {
    description:
      'Estimated savings of the policy adaptive in the idle periods in which the policy was fixed. The adaptive ' +
      'decision is recomputed for each idle period from the data known at that time. Time for stops and boots is ' +
      'included. Idle periods are retained for 35 days.',
  })
  adaptiveWouldSave!: SavedTime;
  @ObjectField(() => SavedTime, {
    description:
      'Savings of the policy adaptive, compared with fixed, in the idle periods in which the policy was adaptive.',
  })
  adaptiveSaved!: SavedTime;
}
