export { meteringConfigs } from './metering-configs';
export { MeteringModule } from './metering.module';
