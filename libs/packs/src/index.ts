export { type BundleOfInstallation, bundleOf, bundleUrl } from './bundle-of';
