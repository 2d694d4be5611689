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
  @EnumField(idleStopPolicies, { description: 'Current value of the setting idleStopPolicy.' }) policy!: IdleStopPolicy;
  @NumberField({ example: 120.25, description: 'Hours for which machines were idle between two runs.' })
  idleHours!: number;
  @NumberField({ example: 40.5, description: 'Part of idleHours in which the machines were on.' }) onHours!: number;
  @ObjectField(() => SavedTime, {
    description:
      'Estimated savings of the policy adaptive in the idle periods in which the policy was fixed. For each idle ' +
      'period, the decision of adaptive is computed from the data that was known then. The time that stops and ' +
      'boots take is included. Idle periods are retained for 35 days.',
  })
  adaptiveWouldSave!: SavedTime;
  @ObjectField(() => SavedTime, {
    description:
      'Savings of the policy adaptive, compared with fixed, in the idle periods in which the policy was adaptive.',
  })
  adaptiveSaved!: SavedTime;
}
